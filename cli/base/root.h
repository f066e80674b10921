/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below a root directory: the machine's own, or a capture of another one's. */
#ifndef ROOT_H
#define ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where commands keep what is theirs, below a root. */
#define ROOT_OWN "/run/isolator"

/* Files there are on their way to another place, and nobody's once a command was killed. */
#define ROOT_NEW "new."

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

/*
 * What is below the directory @path of the running machine is from now on in that of @fd, which
 * stays open.  Both have to last; to be called before there are threads, for one path.
 */
void root_graft(const char *path, int fd);

/*
 * The directory that @path is in, by root_open() with @flags: a descriptor, or -1 with errno.
 * *@name is what follows.
 */
int root_open_parent(const char *root, const char *path, int flags, const char **name);

/* All of the file, with a NUL behind it, to be freed; NULL with errno. */
char *root_read(const char *root, const char *path, size_t *size);

/*
 * The file @path gets @text, all of it at once: of whoever is killed amid that, no half is left.
 * Meanwhile it is @beside, on the same file system; what of that is there goes.  It keeps its
 * owner and permissions.  With @mode it is made where it is not there, and is on the disk
 * before it is at @path; if that is 0, it has to be there.  0; or the errno, and nothing is
 * changed.
 */
int root_replace(const char *root, const char *path, const char *beside, mode_t mode,
		 const char *text);

/* It is not there any more, nor is what root_replace() had in @beside.  0 or the errno. */
int root_remove(const char *root, const char *path, const char *beside);

#endif
