/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a file compressed by gzip holds.  /proc/config.gz is the only one, and gzip
 * belongs to every system, BusyBox's too: so zcat is run, instead of a decompressor
 * of our own or a library that is linked for one file.
 */
#ifndef UNZIP_H
#define UNZIP_H

#include <stddef.h>

/* To be freed; NULL with errno: ENOENT also if there is no zcat, EILSEQ if it fails. */
char *unzip(int fd, size_t *size);

#endif
