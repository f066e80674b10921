/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What every example needs: a pinned thread, the time, and an honest exit. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <isolator.h>

/* Pin the calling thread to the last CPU that it may run on; returns it. */
static inline int example_pin(void)
{
	cpu_set_t allowed, one;
	int last = -1;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			last = cpu;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	sched_setaffinity(0, sizeof(one), &one);
	return last;
}

/* Without a system call where the kernel provides the vDSO. */
static inline uint64_t example_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/*
 * Isolate where the kernel can, and say what is in force; where it cannot, say why and
 * go on as an ordinary thread.  Returns whether this thread is isolated.
 */
static inline int example_isolate(void)
{
	int achieved = isolator_start(ISOLATOR_MASK_ALL);

	if (achieved < 0)
		printf("not isolated: %s\n", isolator_strerror(achieved));
	else
		printf("isolated: mask %#x\n", (unsigned int)achieved);
	return achieved >= 0;
}

/* Page faults of this thread, and how often the scheduler took its CPU away. */
struct example_usage {
	long faults;
	long switches;
};

static inline struct example_usage example_used(void)
{
	struct example_usage usage;
	struct rusage now;

	getrusage(RUSAGE_THREAD, &now);
	usage.faults = now.ru_minflt + now.ru_majflt;
	usage.switches = now.ru_nivcsw;
	return usage;
}

/* Leave with the reason: 77 where the kernel cannot, 1 where it would not. */
static inline void example_fail(const char *call, int error)
{
	if (access("/dev/isolator", F_OK) < 0) {
		printf("skipped: %s: %s\n", call, isolator_strerror(error));
		exit(77);
	}
	fprintf(stderr, "%s: %s\n", call, isolator_strerror(error));
	exit(1);
}

#endif
