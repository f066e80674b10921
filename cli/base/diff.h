/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of a text, line by line, as diff(1) shows it. */
#ifndef DIFF_H
#define DIFF_H

#include <stdio.h>

/*
 * The one stretch of lines that differs, each line with @indent before it; @before NULL:
 * there is no such file.  Nothing if they are the same.
 */
void diff_put(FILE *out, const char *indent, const char *path, const char *before,
	      const char *after);

#endif
