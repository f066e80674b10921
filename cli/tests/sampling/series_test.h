/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series for the tests of isolator measure. */
#ifndef SERIES_TEST_H
#define SERIES_TEST_H

#include <stdlib.h>

#include "base/error.h"
#include "statistics/series.h"

#define MS UINT64_C(1000000)
#define DIGITS 2

static inline void *room(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		exit(error_say("no memory"));
	return memory;
}

static inline struct series *new_series(unsigned int digits)
{
	struct series *series = series_init(room(series_size(digits)), "latency", 0, digits);

	series_start(series, 0);
	return series;
}

/* One trigger with this value. */
static inline void record(struct series *series, uint64_t value)
{
	uint64_t trigger = series->triggers;

	series_begin(series);
	series_due(series, trigger);
	series_record(series, trigger, value, trigger * MS);
	series_end(series);
}

#endif
