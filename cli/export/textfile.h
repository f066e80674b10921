/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that others read at any time: whole, and on the disk. */
#ifndef TEXTFILE_H
#define TEXTFILE_H

#include <stddef.h>

/*
 * Makes @data the content of @path, with mode 0644.  It is written to @path.new, which is gone
 * afterwards; one that a killed process left there is taken over.  A second one that writes
 * there now is an error.  0, or -1, said why.
 */
int textfile_write(const char *path, const char *data, size_t size);

#endif
