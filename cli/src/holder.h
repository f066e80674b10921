/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose an isolation is: the kernel does not say it, the open device and the binding do. */
#ifndef HOLDER_H
#define HOLDER_H

#include <stddef.h>

/* A thread bound to one CPU alone, of a process that has the device open. */
struct holder {
	int cpu;
	int pid, tid;
	char *name;		/* as the thread calls itself, may have control characters */
};

struct holders {
	struct holder *list;
	size_t count;
};

/*
 * Looks through the processes of the machine below @root (root.h); those that this
 * user may not look into are left out.
 */
void holders_find(struct holders *holders, const char *root);

void holders_free(struct holders *holders);

#endif
