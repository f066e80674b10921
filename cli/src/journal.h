/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What settings held before they were changed, in ROOT/run/isolator/journal: written
 * and on its way to the disk before each change, so that whatever ends the program,
 * all can be put back.
 *
 * The file is text.  Its first line is "isolator-journal 1", and then each line is
 * one change in the order of time, four fields with a tabulator between:
 *	set PATH VALUE TEXT
 * PATH is that of the machine, from its root.  VALUE is what to write, without the
 * line's end, and TEXT all that the file showed.  In each of them bytes other than
 * printable ASCII, and the backslash, are \ooo.  A line without its end was cut off
 * by a crash before its change was made.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stddef.h>
#include <sys/types.h>

#define JOURNAL_PATH "/run/isolator/journal"

struct journal {
	const char *root;
	int fd;
	off_t last;	/* where the last line begins */
};

/* Opens it, or begins one, and locks it: 0, or -1, said why. */
int journal_open(struct journal *journal, const char *root);

/* To be called before @path changes: 0, or -1, said why, and nothing may change. */
int journal_note(struct journal *journal, const char *path, const char *value,
		 const char *text);

/* The change that was noted last was not made. */
void journal_forget(struct journal *journal);

/* A journal that notes nothing goes away. */
void journal_close(struct journal *journal);

/*
 * Puts all back, the last change first, and looks whether each file shows what it
 * did.  The running machine is given VALUE; another root, whose files are plain
 * ones, TEXT.  What cannot be put back is told, and stays in the journal.
 * Returns how many stay, -1: said why nothing was done.
 */
int journal_restore(const char *root);

#endif
