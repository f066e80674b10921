/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is undone of a shield (shield_notes.h): only what it has given itself. */
#ifndef UNDO_SHIELD_H
#define UNDO_SHIELD_H

#include <stdbool.h>
#include <stddef.h>

struct cpulist;

/* Does the file that shows @text hold @value, by the word of its line? */
bool undo_shield_holds(const char *what, const char *text, const char *value);

/*
 * The task @tid that began at @start has @was again, if it has @now: 0, also if it has
 * ended, or the errno.
 */
int undo_shield_task(const char *root, const char *tid, const char *start,
		     const struct cpulist *was, const struct cpulist *now);

/* A task that did not get back what it would have, its text to be freed. */
struct undo_shield_heir {
	char *tid;
	char *list;
	int error;
};

/*
 * The same for the tasks that have taken something over, by the journal @text, and are in
 * none of its lines.  0; -1, said why: nothing was looked at.
 */
int undo_shield_heirs(const char *root, const char *text, unsigned int *restored,
		      struct undo_shield_heir **failed, size_t *count);

/* The CPUs of the shield that the journal @text is of, to be freed; NULL: of none. */
char *undo_shield_cpus(const char *text);

#endif
