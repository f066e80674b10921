/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A directory for files that last no longer than a command, and are nobody else's:
 * TMPDIR/isolator-scratch.XXXXXX, or below /tmp.
 * It is locked as long as a process that made it, or a child of that, lives; what of
 * this user's is not locked was left by one that was killed, and is removed.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

/* *@path is to be freed by scratch_remove(): NULL; or why there is none, to be freed. */
char *scratch_make(char **path);

/* With all that is in it. */
void scratch_remove(char *path);

#endif
