/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram of times in ns whose buckets grow with the value, as HdrHistogram lays
 * them out: each holds values that differ by less than 10^-digits of themselves.
 */
#ifndef HIST_H
#define HIST_H

#include <stddef.h>
#include <stdint.h>

#define HIST_LOWEST UINT64_C(1)
#define HIST_HIGHEST UINT64_C(100000000000)	/* 100 s; what is above does not fit */
#define HIST_DIGITS_MIN 2	/* buckets of at most 0.8 % */
#define HIST_DIGITS_MAX 5

struct hist {
	unsigned int digits;
	unsigned int bits;	/* 2^bits buckets of 1 ns, then half as many for each doubling */
	size_t length;		/* of counts */
	uint64_t counts[];
};

/* Bytes that one of @digits takes. */
size_t hist_size(unsigned int digits);

/* An empty one, in @memory of hist_size(). */
struct hist *hist_init(void *memory, unsigned int digits);

/* Which bucket @value, at most HIST_HIGHEST, is counted in. */
static inline size_t hist_index(const struct hist *hist, uint64_t value)
{
	/* Of values below 2^bits the first 2^bits buckets, each of one value. */
	unsigned int top = 63U - (unsigned int)__builtin_clzll(value | ((UINT64_C(1) << hist->bits) - 1));
	unsigned int shift = top + 1 - hist->bits;

	return ((size_t)shift << (hist->bits - 1)) + (size_t)(value >> shift);
}

/* @value is at most HIST_HIGHEST. */
static inline void hist_add(struct hist *hist, uint64_t value)
{
	hist->counts[hist_index(hist, value)]++;
}

/* The least and the greatest value of a bucket. */
uint64_t hist_low(const struct hist *hist, size_t index);
uint64_t hist_high(const struct hist *hist, size_t index);

/* All that was counted. */
uint64_t hist_total(const struct hist *hist);

/* Adds the counts of @from, which has as many digits. */
void hist_merge(struct hist *hist, const struct hist *from);

#endif
