/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's time. */
#ifndef LAB_OBSERVER_CLOCK_H
#define LAB_OBSERVER_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Monotonic. */
static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
