/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was changed for the next boot, noted in ROOT/var/lib/isolator/boot, as that of
 * settings in /run is (journal/journal.h): but this outlasts a boot, as the changes do.  It has the
 * form of a journal, and these changes:
 *	boot PATH NEW TEXT	the file had TEXT, and was given NEW
 *	boot-file PATH NEW -	there was no such file
 *	boot-directory PATH - -	the directory was made
 * Whoever changes it has the lock of journals (journal/store.h).
 */
#ifndef BOOT_NOTES_H
#define BOOT_NOTES_H

#include <stdbool.h>

#define BOOT_NOTES "/var/lib/isolator/boot"
#define BOOT_CHANGED "boot"
#define BOOT_MADE "boot-file"
#define BOOT_DIRECTORY "boot-directory"

/* Before a change: 0, it is on the disk; or the errno, and nothing may change. */
int boot_note(const char *root, const char *what, const char *path, const char *now,
	      const char *text);

/* All of it, to be freed; NULL with errno: ENOENT, nothing is noted; EBADMSG, damaged. */
char *boot_notes_read(const char *root);

/* @text takes its place; with no change in it, it goes away.  0 or the errno. */
int boot_notes_write(const char *root, const char *text);

/*
 * Writes the file beside @path below @root, and puts it in its place, with the owner and the
 * permissions of the one that was there: 0 or the errno, ELOOP: that is a link.
 */
int boot_replace(const char *root, const char *path, const char *text);

/* Removes it; not there is no error.  0 or the errno. */
int boot_remove(const char *root, const char *path, bool directory);

/* Makes a directory whose parent is there: 0 or the errno, EEXIST as well. */
int boot_make_directory(const char *root, const char *path);

#endif
