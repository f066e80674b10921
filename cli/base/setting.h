/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One value that a file of the kernel's holds: how it is shown, written and compared. */
#ifndef SETTING_H
#define SETTING_H

#include <stdbool.h>

enum setting_kind {
	SETTING_TEXT,	/* shown as it is written */
	SETTING_CHOICE,	/* shown among all that there are: always [madvise] never */
	SETTING_LIST,	/* of CPUs: 0,2-3 */
	SETTING_MASK,	/* of CPUs, in hexadecimal: 1,0000000d */
	SETTING_WORD,	/* one among words, written as +word, taken out as -word */
	SETTING_SWITCH,	/* one among words, which NO_ before it turns off */
	SETTING_ADDED,	/* a list of CPUs to which others add some of theirs, too */
};

/* What is to be written for the file to show @text; to be freed. */
char *setting_value(enum setting_kind kind, const char *text);

/* The same of what is to be written once @wanted was: for a switch, the same one. */
char *setting_before(enum setting_kind kind, const char *text, const char *wanted);

/* Does the file that shows @text hold @value? */
bool setting_holds(enum setting_kind kind, const char *text, const char *value);

/* The shell's command that writes @value, maybe of several lines, to @path; to be freed. */
char *setting_command(const char *path, const char *value);

/* Writes @value and a line's end into the file @path below @root; 0 or the errno. */
int setting_write(const char *root, const char *path, const char *value);

/* The same of all of @text, as it is. */
int setting_write_text(const char *root, const char *path, const char *text);

/*
 * What @path below @root shows now, to be freed; NULL with errno.  Of the CPUs for kernel work what
 * was asked for, of which the kernel takes out those of isolated partitions.
 */
char *setting_read(const char *root, const char *path);

#endif
