/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a host has to know: every user of this machine reaches its own addresses. */
#ifndef TOKEN_H
#define TOKEN_H

#include <stddef.h>

/* The first line of a file; to be freed.  Ends the program if there is none. */
char *token_read(const char *path);

/*
 * The same of the file beside @socket, whose name is put in @path.  It is made, with a random
 * line, if it is not there: a generator that is begun again has the same.  One that was not
 * made so, or not by this user, ends the program too.
 */
char *token_own(const char *socket, char *path, size_t size);

#endif
