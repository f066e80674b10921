// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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

int affinity_pin(int cpu)
{
	struct cpulist here = { .given = true };

	cpulist_add(&here, cpu);
	return affinity_set(0, &here);
}

int affinity_read(struct cpulist *cpus)
{
	int error = affinity_get(cpus);

	if (!error)
		return 0;
	error_say("cannot read which CPUs this process may use: %s", strerror(error));
	return -1;
}

int affinity_check(const char *option, const struct cpulist *cpus)
{
	struct cpulist allowed, other = *cpus;
	char *wrong, *right;

	if (affinity_read(&allowed))
		return -1;
	cpulist_minus(&other, &allowed);
	if (cpulist_empty(&other))
		return 0;
	wrong = cpulist_text(&other);
	right = cpulist_text(&allowed);
	error_say("%s: this process may not run on CPU %s, but on %s: run it without taskset, or in another cpuset (/proc/self/status, Cpus_allowed_list)",
		  error_option(option), wrong, right);
	free(right);
	free(wrong);
	return -1;
}
