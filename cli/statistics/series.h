/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One measured quantity on one CPU.  One thread writes it, into memory that is there
 * and locked before it begins; another one reads copies of it meanwhile.
 *
 * The account that has to be even: what is counted in the histogram, overflow and
 * missing are together triggers.
 */
#ifndef SERIES_H
#define SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "statistics/outlier.h"
#include "statistics/hist.h"
#include "statistics/timeline.h"
#include "statistics/worst.h"

struct series {
	const char *name;
	int cpu;
	pid_t tid;		/* of the thread that writes it */
	bool per_second;	/* each value is a sum over one second: limits are not for it */
	uint64_t above_ns;	/* what is not above was seen, and is no trigger; 0: all are */
	uint32_t sequence;	/* odd: it is being written */
	uint64_t triggers;	/* how many were due, by the schedule */
	uint64_t overflow;	/* values above HIST_HIGHEST */
	uint64_t missing;	/* triggers without a value */
	uint64_t min, max;	/* overflow included; min > max: no value */
	uint64_t sum, sum_high;	/* 128 bits */
	uint64_t threshold_ns;	/* values above go to the ring; UINT64_MAX: none */
	struct outlier_ring *ring;	/* may be NULL */
	struct timeline timeline;
	struct worst worst;
	struct hist *hist;	/* behind it, in the same memory */
};

/* Bytes that a series takes. */
size_t series_size(unsigned int digits);

/* An empty one, in @memory of series_size(), which is touched all over by this. */
struct series *series_init(void *memory, const char *name, int cpu, unsigned int digits);

/* When it begins to be measured: where its timeline begins. */
void series_start(struct series *series, uint64_t began_ns);

/* What is written between these is seen by a reader as a whole, or not at all. */
static inline void series_begin(struct series *series)
{
	__atomic_store_n(&series->sequence, series->sequence + 1, __ATOMIC_RELAXED);
	/* What follows is not seen before the odd number (series_copy()). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void series_end(struct series *series)
{
	__atomic_store_n(&series->sequence, series->sequence + 1, __ATOMIC_RELEASE);
}

/*
 * Of the schedule: @trigger, counted from 0, was due.  Each has then to get a value,
 * or to be missed, before series_end().
 */
static inline void series_due(struct series *series, uint64_t trigger)
{
	series->triggers = trigger + 1;
}

/* @trigger has the value @value_ns, known at @at_ns (CLOCK_MONOTONIC, never going back). */
void series_record(struct series *series, uint64_t trigger, uint64_t value_ns, uint64_t at_ns);

/* @count triggers got no value. */
void series_miss(struct series *series, uint64_t count);

/*
 * Copies @from, which another thread may be writing, to @to, an initialised series of
 * as many digits.  False: it was written all the time; @to is not to be used.
 */
bool series_copy(struct series *to, const struct series *from);

/* Of a copy, or when nobody writes any more. */

/* Values in the histogram. */
uint64_t series_samples(const struct series *series);

/* Is the account even? */
bool series_complete(const struct series *series);

/* Has it any value? */
bool series_any(const struct series *series);

double series_mean(const struct series *series);

#endif
