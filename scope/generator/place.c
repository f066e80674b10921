// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "place.h"

int place_choose(int but)
{
	cpu_set_t allowed;

	if (sched_getaffinity(getpid(), sizeof(allowed), &allowed))
		return -1;
	for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--)
		if (cpu != but && CPU_ISSET(cpu, &allowed))
			return cpu;
	return -1;
}

bool place_current(int cpu)
{
	cpu_set_t only;

	if (cpu < 0)
		return true;
	if (cpu >= CPU_SETSIZE) {
		errno = EINVAL;
		return false;
	}
	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	return !sched_setaffinity(0, sizeof(only), &only);
}

bool place_try(int cpu)
{
	cpu_set_t before;
	int error = 0;

	if (sched_getaffinity(0, sizeof(before), &before))
		return false;
	if (!place_current(cpu))
		error = errno;
	sched_setaffinity(0, sizeof(before), &before);
	errno = error;
	return !error;
}
