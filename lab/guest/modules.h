/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel modules, for triggers that are programs. */
#ifndef LAB_MODULES_H
#define LAB_MODULES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline bool module_loaded(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

/* With what it depends on. */
static inline bool module_load(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "modprobe %s >/dev/null 2>&1", name);
	return !system(command) && module_loaded(name);
}

/*
 * Something freed a moment ago may still hold it: that has a second to go.
 * What it depended on goes as well, but for what others use.
 */
static inline bool module_unload(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "modprobe -r %s >/dev/null 2>&1", name);
	for (int wait = 0; wait < 50; wait++) {
		if (system(command) >= 0 && !module_loaded(name))
			return true;
		usleep(20000);
	}
	return false;
}

#endif
