/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The largest values, exact, with the trigger and the time of each. */
#ifndef WORST_H
#define WORST_H

#include <stdbool.h>
#include <stdint.h>

#define WORST_ROOM 128

struct worst_value {
	uint64_t value_ns;
	uint64_t trigger;	/* which one, from 0 */
	uint64_t at_ns;		/* CLOCK_MONOTONIC */
};

/* A heap, its least on top.  All 0 is an empty one. */
struct worst {
	unsigned int count;
	struct worst_value values[WORST_ROOM];
};

/* Not inline: few values come so far. */
void worst_enter(struct worst *worst, const struct worst_value *value);

/* Is @value_ns among them?  Of equal ones the first stay. */
static inline bool worst_enters(const struct worst *worst, uint64_t value_ns)
{
	return worst->count < WORST_ROOM || value_ns > worst->values[0].value_ns;
}

static inline void worst_add(struct worst *worst, uint64_t value_ns, uint64_t trigger,
			     uint64_t at_ns)
{
	if (worst_enters(worst, value_ns))
		worst_enter(worst, &(struct worst_value){ value_ns, trigger, at_ns });
}

/* The largest first, of equal ones the earlier; no more can be added then. */
void worst_sort(struct worst *worst);

#endif
