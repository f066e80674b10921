/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maximum and the count of each interval of a run.  There is room for a number of
 * intervals that is fixed; a run that grows longer makes each twice as long.
 */
#ifndef TIMELINE_H
#define TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_ROOM 256		/* even */
#define TIMELINE_FIRST_NS UINT64_C(10000000)

struct timeline {
	uint64_t began_ns;
	uint64_t interval_ns;
	uint64_t end_ns;	/* of the interval that at is in */
	unsigned int at;	/* the latest one that has a value */
	uint64_t maxima[TIMELINE_ROOM];	/* of those whose count is not 0 */
	uint64_t counts[TIMELINE_ROOM];
};

/* An empty one whose first interval begins at @began_ns. */
void timeline_init(struct timeline *timeline, uint64_t began_ns);

/* Not inline: once an interval.  Takes some 100 ns when the intervals double. */
void timeline_move(struct timeline *timeline, uint64_t at_ns);

/* Does @at_ns lie behind the interval of the latest one? */
static inline bool timeline_moves(const struct timeline *timeline, uint64_t at_ns)
{
	return at_ns >= timeline->end_ns;
}

/* In the interval of the latest one. */
static inline void timeline_count(struct timeline *timeline, uint64_t value)
{
	unsigned int at = timeline->at;

	if (value > timeline->maxima[at])
		timeline->maxima[at] = value;
	timeline->counts[at]++;
}

/* @at_ns never goes back. */
static inline void timeline_add(struct timeline *timeline, uint64_t at_ns, uint64_t value)
{
	if (timeline_moves(timeline, at_ns))
		timeline_move(timeline, at_ns);
	timeline_count(timeline, value);
}

#endif
