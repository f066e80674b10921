/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files below a directory of tracefs. */
#ifndef TRACEFS_FILE_H
#define TRACEFS_FILE_H

#include <stddef.h>

/* In one piece; 0 or the errno. */
int tracefs_write(int directory, const char *path, const char *text);
int tracefs_write_number(int directory, const char *path, size_t number);

/* To be freed; NULL with errno. */
char *tracefs_read(int directory, const char *path);

#endif
