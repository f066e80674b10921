// SPDX-License-Identifier: GPL-2.0-or-later
/* beat CPU: a task that takes CPU once a second, above all but the kernel's own. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct sched_param high = { .sched_priority = 50 };
	struct timespec next;
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(argc > 1 ? atoi(argv[1]) : 0, &here);
	if (sched_setaffinity(0, sizeof(here), &here) || sched_setscheduler(0, SCHED_FIFO, &high)) {
		perror("beat");
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		next.tv_sec++;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL) == EINTR)
			;
	}
}
