/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One setting gets another value: noted before, written, and read back. */
#ifndef CHANGE_H
#define CHANGE_H

#include "base/cpulist.h"
#include "base/setting.h"
#include "journal/journal.h"

enum change_outcome {
	OUTCOME_NONE,		/* it was not tried */
	OUTCOME_FIXED,		/* written and read back */
	OUTCOME_REFUSED,	/* the write failed */
	OUTCOME_IGNORED,	/* written, but another value was read back */
	OUTCOME_PENDING,	/* written, and in force from the next boot on */
};

struct change {
	const char *path;
	enum setting_kind kind;
	const char *wanted;
	const char *what;	/* the kind of its line (undo_line.h); NULL: JOURNAL_CHANGE */
	const char *base;	/* if that has one: what the line says it showed before */
	enum change_outcome outcome;
	char *before;	/* what the file showed; NULL: it could not be read */
	char *now;	/* what was read back, or why it was refused */
};

/*
 * The new value is in force, or the old one, and then the journal does not name it.
 * -1, said why: the journal cannot be written, and nothing was changed.
 */
int change_apply(struct change *change, struct journal *journal);

/* The field VALUE of a line JOURNAL_CHANGE, to be freed: @wanted was set. */
char *change_field(enum setting_kind kind, const char *wanted);

/* What such a field says was set; NULL: it is damaged. */
const char *change_set(const char *field, enum setting_kind *kind);

/*
 * From now on the CPUs that the file @path lists are @cpus, as an administrator wants them:
 * whoever has added one of those leaves it there.  @directory: of the journals, STORE_PATH, locked
 * since before the file was written.  0, or -1, said what cannot be noted.
 */
int journal_allowed(const char *root, int directory, const char *path, const struct cpulist *cpus);

/* Frees before and now. */
void change_free(struct change *change);

/* What helps against this error of a write to @path; "" if nothing is known to. */
const char *change_hint(const char *path, int error);

#endif
