/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below a root directory: the machine's own, or a capture of another one's. */
#ifndef ROOT_H
#define ROOT_H

#include <stdbool.h>
#include <stddef.h>

/* Is @root the running machine? */
bool root_live(const char *root);

/*
 * May a change be made below @root, which has to last?  Not where somebody without privilege may
 * have prepared what is changed, and how: below a directory of another user's, or that others
 * may write.  From then on @root is the directory that was looked at, whatever its path leads to.
 */
bool root_trusted(const char *root);

/* Says that it is not. Returns -1. */
int root_refuse(const char *root);

/*
 * Opens @path, which begins with a slash, below @root; no link leads out of it.
 * As open(2): a descriptor, or -1 with errno.  Never waits for a FIFO's other end.
 */
int root_open(const char *root, const char *path, int flags);

/* All of the file, with a NUL behind it, to be freed; NULL with errno. */
char *root_read(const char *root, const char *path, size_t *size);

#endif
