/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel modules with what they need, for triggers of kind program. */
#ifndef LAB_MODULE_H
#define LAB_MODULE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* "NAME [PARAMETERS]" loads, "-r NAME..." removes; true if it did. */
static inline bool modprobe(const char *arguments)
{
	char line[200];

	snprintf(line, sizeof(line), "modprobe %s", arguments);
	return !system(line);
}

#endif
