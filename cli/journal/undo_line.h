/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line of a journal is undone.  What its first word says is a kind; each room that notes
 * something of its own has the functions for it, and undo_kinds.c is the table of all.
 */
#ifndef UNDO_LINE_H
#define UNDO_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/cpulist.h"
#include "base/setting.h"
#include "journal/journal.h"
#include "journal/undo.h"

struct undo_context {
	struct undo *undo;
	struct undo_journal *journal;
	const char *root;
	const char *place;	/* the directory of the journal */
	const char *detached;	/* the tid of a task whose journal is undone though it lives */
	const struct stat *failed;	/* the journal of an attach that has failed is undone as well */
	struct cpulist allowed;	/* given: what the journal says an administrator has allowed since */
	char **held;	/* what newer journals note, and therefore comes later: names */
	size_t nr_held;
};

struct undo_kind {
	const char *what;
	bool path;	/* what it changes is named by a path */
	bool task;	/* by the number of a task or a process; messages show it in commands */

	/* While the task lives that began at VALUE, the journal is that of a run that lives. */
	bool attached;

	bool aside;	/* no change of the journal's own, but it matters for those before */

	/* The change that @fields note; false, said why: it stays.  NULL: it is no change. */
	bool (*undo)(struct undo_context *context, char **fields);

	/*
	 * A run that begins relies on what a run that lives has changed: notes that, as it is now,
	 * so that whoever ends last puts it back.  0, or -1, said why.  NULL: each has its own.
	 */
	int (*share)(struct journal *journal, char **fields);

	/*
	 * Of a line that is no change, but says whose the journal is: the CPUs of the journal
	 * @text, to be freed, or NULL if it has no such line, and which command's it is.
	 */
	char *(*cpus)(const char *text);
	const char *command;	/* also of a change whose journal has no such line */

	/* What no line notes, once all are undone; false, said why: not all. */
	bool (*rest)(struct undo_context *context, const char *text);
};

/* Ends with one without @what. */
extern const struct undo_kind undo_kinds[];

/* NULL: there is none. */
const struct undo_kind *undo_kind(const char *what);

/* The change that @fields note; false, said why: it stays. */
bool undo_line(struct undo_context *context, char **fields);

/* For functions of a kind.  That @path, or the task @tid, is not as it should be: false. */
bool undo_fail(struct undo_context *context, const char *path, const char *should,
	       const char *why);
bool undo_fail_task(struct undo_context *context, const char *tid, const char *list, int error);

/* Of the journal, or a line of it: says so, and keeps it.  Returns false. */
bool undo_damaged(struct undo_context *context, const char *why);
bool undo_damaged_line(struct undo_context *context);

/*
 * Writes @value, or what it is within, @text, and looks whether the file shows it; false, said
 * why, and what helps.
 */
bool undo_write(struct undo_context *context, const char *path, enum setting_kind kind,
		const char *value, const char *text);

/*
 * Says that somebody has set @path, which shows @now and had @text, since: there is nothing to put
 * back.  Returns true.
 */
bool undo_leave(struct undo_context *context, const char *path, enum setting_kind kind,
		const char *now, const char *text);

/* Kinds that are no one room's: a file, an instance of the tracer, a task's affinity. */
bool undo_change(struct undo_context *context, char **fields);
bool undo_allowed(struct undo_context *context, char **fields);
bool undo_set(struct undo_context *context, char **fields);
bool undo_instance(struct undo_context *context, char **fields);
bool undo_task(struct undo_context *context, char **fields);
int undo_share_change(struct journal *journal, char **fields);
int undo_share_set(struct journal *journal, char **fields);
int undo_share_task(struct journal *journal, char **fields);

#endif
