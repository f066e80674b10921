/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose an isolation is: the name and the process of the thread that the kernel names. */
#ifndef HOLDER_H
#define HOLDER_H

#include <stddef.h>

#include "proc/proc.h"

struct holder {
	int cpu;
	int pid, tid;
	char *name;		/* as the thread calls itself, may have control characters */
};

struct holders {
	struct holder *list;
	size_t count;
};

/* Those of @sample's CPUs that are threads of the machine below @root (base/root.h). */
void holders_find(struct holders *holders, const char *root, const struct proc_sample *sample);

/* The one of @cpu; NULL: its thread has ended, or is not seen from here. */
const struct holder *holders_of(const struct holders *holders, const struct proc_cpu *cpu);

void holders_free(struct holders *holders);

#endif
