/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that does nothing but look at the clock: where two looks are further apart than
 * the threshold, something else had the CPU.
 */
#ifndef GAP_H
#define GAP_H

#include "sampling/method.h"

/* A gap is longer than so many times the least time between two looks, and than this. */
#define GAP_TIMES 8
#define GAP_FLOOR_NS UINT64_C(100)

/*
 * With a real-time policy a thread that only spins starves all others of its CPU, until
 * the kernel stops it for 50 ms of each second: so it sleeps by itself, and knows when.
 */
#define GAP_SPELL_NS UINT64_C(90000000)
#define GAP_REST_NS UINT64_C(10000000)

struct gap_options {
	uint64_t threshold_ns;
	bool rests;		/* sleep for GAP_REST_NS after each GAP_SPELL_NS */
};

/*
 * Its series.  gap: each gap.  lost: of each second, the sum of its gaps.  unseen: of each
 * second, when it did not look: it noted a gap, or rested.
 */
enum gap_series { GAP_LENGTH, GAP_LOST, GAP_UNSEEN, GAP_SERIES };

/* Where it looks, which tests replace. */
struct gap_clock {
	uint64_t (*look)(const struct timebase *timebase);
	uint64_t (*monotonic_ns)(void);
	void (*rest)(const struct worker *worker, uint64_t ns);
};

/*
 * The threshold for looks that are @least_ns apart at least, at a clock whose steps are
 * @resolution_ns.
 */
uint64_t gap_threshold(double least_ns, double resolution_ns);

/* The same on this machine, as its loop is; takes 20 ms. */
uint64_t gap_calibrate(const struct timebase *timebase);

/* As the method does; watch() is the run after open(). */
void gap_open(struct worker *worker, const struct gap_clock *clock);
void gap_watch(struct worker *worker, const struct gap_clock *clock);

/* Its options are struct gap_options. */
extern const struct method gap_method;

#endif
