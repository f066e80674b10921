/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When triggers are due, whatever happens to those before: open loop.  With a random
 * phase the time between two is evenly distributed from half a period to one and a
 * half, so that triggers meet every phase of the tick, and of all else that is regular.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdint.h>

#include "sampling/result.h"

struct schedule {
	uint64_t due_ns;	/* of the next trigger, CLOCK_MONOTONIC */
	uint64_t trigger;	/* which one that is, from 0 */
	uint64_t period_ns;
	bool random;
	uint64_t state;		/* of the random numbers */
};

__extension__ typedef unsigned __int128 schedule_wide;

/* Evenly distributed below @limit: Steele's SplitMix64. */
static inline uint64_t schedule_random(struct schedule *schedule, uint64_t limit)
{
	uint64_t z = schedule->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	/* The upper half of the product. */
	return (uint64_t)((schedule_wide)(z ^ z >> 31) * limit >> 64);
}

/* The first trigger is at @begin_ns, or at random within a period from there on. */
static inline struct schedule schedule_begin(uint64_t begin_ns, uint64_t period_ns, bool random,
					     uint64_t seed)
{
	struct schedule schedule = {
		.due_ns = begin_ns, .period_ns = period_ns, .random = random, .state = seed,
	};

	if (random)
		schedule.due_ns += schedule_random(&schedule, period_ns);
	return schedule;
}

/* To the trigger after that. */
static inline void schedule_next(struct schedule *schedule)
{
	schedule->trigger++;
	schedule->due_ns += schedule->random ? schedule->period_ns / 2 +
		schedule_random(schedule, schedule->period_ns) : schedule->period_ns;
}

#endif
