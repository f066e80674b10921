/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel counts in lines of names and numbers. */
#ifndef LAB_COUNTED_H
#define LAB_COUNTED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number behind @what, summed up over the lines of @path that begin with @begin. */
static inline unsigned long long counted_in(const char *path, const char *begin, const char *what)
{
	FILE *f = fopen(path, "r");
	unsigned long long count = 0;
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		const char *at = strncmp(line, begin, strlen(begin)) ? NULL : strstr(line, what);

		if (at)
			count += strtoull(at + strlen(what), NULL, 10);
	}
	if (f)
		fclose(f);
	return count;
}

static inline unsigned long long counted(const char *begin, const char *what)
{
	return counted_in("/proc/isolator/stats", begin, what);
}

#endif
