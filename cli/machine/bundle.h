/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture in one file: a tar archive of the files that were read, as they were, by
 * their paths without the first slash, and the directories above them.  Beside them
 * stands the note, a text file "isolator-audit":
 *	isolator-audit 1
 *	cpus LIST			the CPUs that were looked at
 *	unreadable ERROR PATH		a file that is there and could not be read, and
 *					why: EACCES
 * So it can be unpacked by any tar, and the directory be looked at instead.
 */
#ifndef BUNDLE_H
#define BUNDLE_H

#include "machine/capture.h"

/* Fills @capture from the bundle that its root is: 0, or -1, said why. */
int bundle_read(struct capture *capture);

/*
 * The same from what tar says of one: the @list of what is in it, which is cut up, and all
 * contents, one behind the other.
 */
int bundle_take(struct capture *capture, char *list, const char *data, size_t size);

/* Takes the note of an unpacked bundle, if there is one: 0, or -1, said why. */
int bundle_note(struct capture *capture);

/*
 * Writes @file, for its owner alone, in place of an ordinary file that is there: 0, or -1,
 * said why, and what is there is as it was.
 */
int bundle_write(const struct capture *capture, const char *file);

/* The same to standard output; what cannot be written there is stdout's error, too. */
int bundle_print(const struct capture *capture);

#endif
