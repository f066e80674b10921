/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock that a method looks at: the CPU's counter where it can be trusted, else
 * CLOCK_MONOTONIC.  What a look costs, and the least step, are measured.
 */
#ifndef TIMEBASE_H
#define TIMEBASE_H

#include <stdint.h>

#include "base/wait.h"
#include "machine/cycles.h"

enum timebase_kind { TIMEBASE_TSC, TIMEBASE_CNTVCT, TIMEBASE_MONOTONIC, TIMEBASE_TRACER };

/* As in the result. */
extern const char *const timebase_names[];

struct timebase {
	enum timebase_kind kind;
	char note[160];		/* why not a better one; "": it is the best */
	double per_ns;		/* what one ns is in its unit */
	uint64_t base, base_ns;	/* one moment, in its unit and in CLOCK_MONOTONIC */
	/* Seen at once after it was chosen: */
	double resolution_ns;	/* the least step */
	uint64_t floor_min_ns, floor_p50_ns, floor_max_ns;	/* between two looks */
};

/* The best of the machine below @root.  Takes some 30 ms. */
void timebase_open(struct timebase *timebase, const char *root);

/* CLOCK_MONOTONIC, @note says why. */
void timebase_open_monotonic(struct timebase *timebase, const char *note);

/* The kernel's tracers have their own, of which only @step_ns is known. */
void timebase_open_tracer(struct timebase *timebase, double step_ns);

/* Now, in its unit. */
static inline uint64_t timebase_look(const struct timebase *timebase)
{
	return timebase->kind == TIMEBASE_MONOTONIC ? wait_clock_ns() : cycles();
}

/* A time between two looks in ns. */
static inline uint64_t timebase_ns(const struct timebase *timebase, uint64_t span)
{
	return timebase->kind == TIMEBASE_MONOTONIC ? span :
		(uint64_t)((double)span / timebase->per_ns);
}

/* A look in CLOCK_MONOTONIC; over hours it may be off by some 10 us a second. */
uint64_t timebase_at_ns(const struct timebase *timebase, uint64_t look);

#endif
