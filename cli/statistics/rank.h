/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Percentiles by rank, of the command, the generator and the benchmarks: the least of the
 * values that at least this share does not exceed, which is one of the values.
 * report/isolator_report/percentile.py is the same in Python.
 */
#ifndef RANK_H
#define RANK_H

#include <stdint.h>

/* A percentile is named by the share that lies above it, of so many: 99.9 is 1000. */
#define PERCENTILE_WHOLE UINT32_C(1000000)

/* The place among @count sorted values, from 1 for the least; 0: there is no value. */
static inline uint64_t rank_from_least(uint64_t count, uint32_t above)
{
	uint64_t rank = count - count * above / PERCENTILE_WHOLE;

	return rank || !count ? rank : 1;
}

#endif
