/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits on the maximum and on percentiles, and whether they hold. */
#ifndef LIMIT_H
#define LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "statistics/percentile.h"
#include "statistics/series.h"

enum limit_result {
	LIMIT_KEPT,
	LIMIT_EXCEEDED,
	LIMIT_UNKNOWN,		/* too few samples, or some are missing */
};

/* As in the result. */
extern const char *const limit_results[];

struct limit {
	char name[PERCENTILE_TEXT];	/* max, or p99.9 */
	uint32_t above;		/* the percentile's; 0: the maximum */
	uint64_t limit_ns;
	bool hard;		/* it decides the exit status */
	/* By limit_judge(), of the worst series: */
	bool known;
	uint64_t value_ns;
	uint64_t needs;		/* samples that a verdict takes */
	enum limit_result result;
};

/* From "max=50us" or "p99.9=20us".  False: said why, @option is its name. */
bool limit_parse(const char *text, const char *option, bool hard, struct limit *limit);

/*
 * Judges @limit by all of @series that are not sums of seconds.  A maximum holds if no value
 * is above, and none is missing.  A percentile is exceeded if it is above, and holds if its
 * upper bound is not: between these nothing can be said.
 */
void limit_judge(struct limit *limit, struct series *const *series, size_t count);

#endif
