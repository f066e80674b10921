// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>

#include "machine/affinity.h"

/* Both are words of 64 bits, the first CPU in the lowest. */
int affinity_get(struct cpulist *cpus)
{
	*cpus = (struct cpulist){ .given = true };
	return sched_getaffinity(0, sizeof(cpus->bits), (cpu_set_t *)cpus->bits) ? errno : 0;
}

int affinity_set(pid_t tid, const struct cpulist *cpus)
{
	return sched_setaffinity(tid, sizeof(cpus->bits), (const cpu_set_t *)cpus->bits) ?
		errno : 0;
}
