/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What zcat(1) and tar(1) make of a file.  They belong to every system, BusyBox's too: so they
 * are run, instead of a decompressor and an archiver of our own, or libraries for one file.
 */
#ifndef FILTER_H
#define FILTER_H

#include <stddef.h>

/*
 * What the program @arguments writes, which reads @in, or, if that is -1, nothing.  Somebody
 * else may have made what it reads: it gets no right of root's to more than that, and no more
 * time and room than ever are needed.  To be freed; NULL with errno: ENOENT also if there is no
 * such program, EILSEQ if it fails, EFBIG if it writes too much.
 */
char *filter(const char *const *arguments, int in, size_t *size);

#endif
