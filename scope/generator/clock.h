/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in ns, and numbers that are random but repeatable. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Steele's SplitMix64. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Evenly distributed below @limit, as far as a double tells. */
static inline uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return (uint64_t)((double)(random_next(state) >> 11) * 0x1p-53 * (double)limit);
}

#endif
