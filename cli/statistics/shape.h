/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a distribution looks like, in plain words.  The rules are those at the top of
 * report/isolator_report/shape.py, and so are the words: a test compares them.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "statistics/hist.h"

#define SHAPE_ENOUGH 500	/* values; fewer have no shape */
#define SHAPE_PEAKS 16

enum shape_body { SHAPE_UNKNOWN, SHAPE_TIGHT, SHAPE_WIDE, SHAPE_BIMODAL };

/* What a shape is taken of. */
struct shape_of {
	const struct hist *hist;
	uint64_t overflow;	/* values that it does not hold */
	uint64_t max_ns;	/* the exact maximum, also of those */
	double step_ns;		/* what values were cut to; at least 1 */
};

struct shape {
	enum shape_body body;
	bool tail;		/* a long one */
	bool alone;		/* the largest value is far above all but 10 */
	uint64_t total;
	double p5_ns, p95_ns;
	double far_ns, far_times;	/* what tells the tail, so many times as far as p90 */
	bool far_p999;		/* it is p99.9; else p99 */
	uint64_t max_ns, bound_ns;	/* all but 10 are below the bound */
	double peaks_ns[SHAPE_PEAKS];
	unsigned int nr_peaks;
};

struct shape shape_find(const struct shape_of *of);

/* "tight: nine of ten ...; long tail: ..."; to be freed. */
char *shape_words(const struct shape *shape);

/*
 * Where the peaks of @of are that a valley parts and that hold enough, in ns: how many, of
 * which the first SHAPE_PEAKS are in @peaks_ns.  @of has values.
 */
unsigned int shape_peaks(const struct shape_of *of, double peaks_ns[SHAPE_PEAKS]);

#endif
