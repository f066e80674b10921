/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When triggers are due: open loop, at times that depend on nothing but the settings.  What
 * was not sent when the next one was due is left out: a pause of the generator's shall not
 * become a burst for the target.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <stdint.h>

#include "clock.h"
#include "settings.h"

struct schedule {
	uint64_t due_ns;	/* of the next trigger */
	uint64_t burst_ns;	/* of the first one of its burst */
	uint64_t period_ns;
	uint64_t gap_ns;
	uint64_t state;		/* of the random numbers */
	uint16_t burst;
	uint16_t at;		/* which one of its burst is next */
	bool random;
};

/* From the next burst on. */
static inline void schedule_set(struct schedule *schedule, const struct settings *settings)
{
	schedule->period_ns = settings_period_ns(settings);
	schedule->gap_ns = settings->gap_ns;
	schedule->burst = settings->burst;
	schedule->random = settings->random;
}

/* The first is due one period after @now, or at random from half to one and a half. */
static inline void schedule_begin(struct schedule *schedule, const struct settings *settings,
				  uint64_t now)
{
	*schedule = (struct schedule){ .state = settings->seed };
	schedule_set(schedule, settings);
	schedule->burst_ns = now;
	schedule->burst_ns += schedule->random ? schedule->period_ns / 2 +
		random_below(&schedule->state, schedule->period_ns) : schedule->period_ns;
	schedule->due_ns = schedule->burst_ns;
}

static inline void schedule_step(struct schedule *schedule)
{
	if (++schedule->at < schedule->burst) {
		schedule->due_ns += schedule->gap_ns;
		return;
	}
	schedule->at = 0;
	schedule->burst_ns += schedule->random ? schedule->period_ns / 2 +
		random_below(&schedule->state, schedule->period_ns) : schedule->period_ns;
	schedule->due_ns = schedule->burst_ns;
}

/* To the next one that is due after @now, when one was sent. */
static inline void schedule_next(struct schedule *schedule, uint64_t now)
{
	do
		schedule_step(schedule);
	while (schedule->due_ns <= now);
}

#endif
