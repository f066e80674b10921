/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Percentiles of a series, with upper bounds that hold whatever the distribution is: a
 * bound is one of the values, of a rank that is above the percentile of what is
 * sampled in 95 % of all runs, if samples are independent.
 *
 * A trigger without a value counts as one that is larger than all.
 */
#ifndef PERCENTILE_H
#define PERCENTILE_H

#include <stdbool.h>
#include <stdint.h>

#include "statistics/rank.h"
#include "statistics/series.h"

#define PERCENTILE_TEXT 16

/* Those that are always told, as their share above, of PERCENTILE_WHOLE; 0 ends. */
extern const uint32_t percentiles[];

struct percentile {
	uint32_t above;
	bool known, bounded;	/* there are enough samples for it */
	uint64_t value_ns, upper_ns;
	uint64_t needs;		/* samples that a bound takes */
};

/* The percentile that @above of PERCENTILE_WHOLE is above; @series is not sorted yet or is. */
struct percentile percentile_find(const struct series *series, uint32_t above);

/* Samples that a bound takes. */
uint64_t percentile_needs(uint32_t above);

/*
 * How many of @count values may lie above the bound: the chance that no more of them
 * are above the percentile is at most 5 %.  -1: @count is too small for a bound.
 */
int64_t percentile_spare(uint64_t count, uint32_t above);

/* Its name, as "99.9". */
const char *percentile_text(char text[PERCENTILE_TEXT], uint32_t above);

/* From such a name; false: it is none, or is finer than PERCENTILE_WHOLE. */
bool percentile_parse(const char *text, uint32_t *above);

#endif
