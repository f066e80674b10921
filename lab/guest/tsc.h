/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time without a system call, for threads that must not make one. */
#ifndef LAB_TSC_H
#define LAB_TSC_H

#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

/* TSC cycles per second, measured against the monotonic clock for 0.1 s. */
static inline uint64_t tsc_hz(void)
{
	struct timespec a, b;
	uint64_t ta, tb;

	clock_gettime(CLOCK_MONOTONIC, &a);
	ta = __rdtsc();
	usleep(100000);
	clock_gettime(CLOCK_MONOTONIC, &b);
	tb = __rdtsc();
	return (uint64_t)((double)(tb - ta) /
			  ((double)(b.tv_sec - a.tv_sec) +
			   (double)(b.tv_nsec - a.tv_nsec) * 1e-9));
}

#endif
