/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts back what journals (journal.h) note, the last change first, and looks whether
 * each file shows what it did.  The running machine is given VALUE; another root, whose
 * files are plain ones, TEXT.  What cannot be put back is told, and stays noted.  What somebody
 * has changed since is told, and no longer noted.
 *
 * Journals are undone from the newest to the oldest.  One whose command lives is left
 * alone, and so is in older ones what it has changed too: it puts that back itself.
 */
#ifndef UNDO_H
#define UNDO_H

#include <stdbool.h>
#include <stddef.h>

enum undo_which {
	UNDO_RUNS,	/* of runs that have ended; waits for others that change settings */
	UNDO_SHIELD,	/* of the shield; waits as well, and leaves runs alone */
	UNDO_ENDED,	/* of all commands that have ended, and for the next boot */
	UNDO_ALL,	/* those of commands that live, too */
};

enum undo_state {
	UNDO_DONE,	/* it is gone */
	UNDO_STAYS,	/* something could not be put back */
	UNDO_WAITS,	/* something is left to a run that lives */
	UNDO_ALIVE,	/* its command lives: left alone */
};

struct undo_journal {
	char *path;
	char *pid, *cpus, *program;	/* of a run; of a shield the last two; else NULL */
	enum undo_state state;
	unsigned int restored, failed, waiting;	/* changes */
	unsigned int kept;	/* those that somebody has changed since, and are left so: said */
	unsigned int moved;	/* processes that went on running elsewhere */
};

struct undo_failure {
	char *path;
	char *should;	/* what it should hold, or be */
	char *why;
};

struct undo {
	struct undo_journal *journals;
	size_t count;
	struct undo_failure *failures;	/* each was said, too */
	size_t failed;
};

/*
 * As UNDO_RUNS, and that of the task @tid, which was attached and lives: its isolation
 * ends.  -1 as below.
 */
int undo_attached(struct undo *undo, const char *root, const char *tid);

/*
 * As UNDO_RUNS, and the journal that is open as @journal, of an attach of this process's that
 * came to nothing, though its task lives: that was not isolated by it, and nothing else ends.
 * -1 as below.
 */
int undo_attach(struct undo *undo, const char *root, int journal);

/* 0, whatever became of the journals; -1, said why: they were not looked at. */
int undo_journals(struct undo *undo, const char *root, enum undo_which which);

/*
 * As UNDO_RUNS, where nobody looks at what came of it: a run that was killed is named, and
 * what is left of this process itself goes too.  False, said why: not all is as it was.
 */
bool undo_runs(const char *root);

void undo_free(struct undo *undo);

#endif
