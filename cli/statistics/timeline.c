// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "statistics/timeline.h"

void timeline_init(struct timeline *timeline, uint64_t began_ns)
{
	memset(timeline, 0, sizeof(*timeline));
	timeline->began_ns = began_ns;
	timeline->interval_ns = TIMELINE_FIRST_NS;
	timeline->end_ns = began_ns + TIMELINE_FIRST_NS;
}

/* Two neighbours become one. */
static void halve(struct timeline *timeline)
{
	for (unsigned int i = 0; i < TIMELINE_ROOM / 2; i++) {
		uint64_t left = timeline->maxima[2 * i], right = timeline->maxima[2 * i + 1];

		timeline->maxima[i] = left > right ? left : right;
		timeline->counts[i] = timeline->counts[2 * i] + timeline->counts[2 * i + 1];
	}
	memset(timeline->maxima + TIMELINE_ROOM / 2, 0, sizeof(timeline->maxima) / 2);
	memset(timeline->counts + TIMELINE_ROOM / 2, 0, sizeof(timeline->counts) / 2);
	timeline->interval_ns *= 2;
}

void timeline_move(struct timeline *timeline, uint64_t at_ns)
{
	uint64_t index;

	while ((index = (at_ns - timeline->began_ns) / timeline->interval_ns) >= TIMELINE_ROOM)
		halve(timeline);
	timeline->at = (unsigned int)index;
	timeline->end_ns = timeline->began_ns + (index + 1) * timeline->interval_ns;
}
