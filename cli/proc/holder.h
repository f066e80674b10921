/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose an isolation is: the thread that the kernel names.  An older one does not: the open
 * device and the binding tell it.
 */
#ifndef HOLDER_H
#define HOLDER_H

#include <stddef.h>

#include "proc/proc.h"

/* One that has isolated a CPU; or is bound to it alone, of a process that has the device open. */
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
 * Looks through the processes of the machine below @root (base/root.h) for those of @sample's
 * CPUs; those that this user may not look into are left out.
 */
void holders_find(struct holders *holders, const char *root, const struct proc_sample *sample);

void holders_free(struct holders *holders);

#endif
