/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of a journal is undone. */
#ifndef UNDO_LINE_H
#define UNDO_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "undo.h"

struct undo_context {
	struct undo *undo;
	struct undo_journal *journal;
	const char *root;
	const char *detached;	/* the tid of a task whose journal is undone though it lives */
	const struct stat *failed;	/* the journal of an attach that has failed is undone as well */
	char **held;	/* what newer journals note, and therefore comes later: names */
	size_t nr_held;
};

/* Of the journal, or a line of it: says so, and keeps it.  Returns false. */
bool undo_damaged(struct undo_context *context, const char *why);

/* The change that @fields note; false, said why: it stays. */
bool undo_line(struct undo_context *context, char **fields);

/*
 * Tasks that began while the shield was set have what it gave to whoever began them: by
 * the journal @text, they get back what those had.  False, said why: not all.
 */
bool undo_heirs(struct undo_context *context, const char *text);

#endif
