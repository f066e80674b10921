// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "statistics/hist.h"

/* Such that 2 * 10^digits values are told apart before buckets become wider. */
static unsigned int bits_of(unsigned int digits)
{
	uint64_t values = 2;
	unsigned int bits = 0;

	for (unsigned int i = 0; i < digits; i++)
		values *= 10;
	while (UINT64_C(1) << bits < values)
		bits++;
	return bits;
}

static size_t length_of(unsigned int bits)
{
	size_t doublings = 1;

	while (UINT64_C(1) << bits << (doublings - 1) <= HIST_HIGHEST)
		doublings++;
	return (doublings + 1) << (bits - 1);
}

size_t hist_size(unsigned int digits)
{
	return sizeof(struct hist) + length_of(bits_of(digits)) * sizeof(uint64_t);
}

struct hist *hist_init(void *memory, unsigned int digits)
{
	struct hist *hist = memory;

	memset(hist, 0, hist_size(digits));
	hist->digits = digits;
	hist->bits = bits_of(digits);
	hist->length = length_of(hist->bits);
	return hist;
}

/* By how many bits the values of a bucket are wider than one. */
static unsigned int shift_of(const struct hist *hist, size_t index)
{
	size_t doubling = index >> (hist->bits - 1);

	return doubling > 1 ? (unsigned int)(doubling - 1) : 0;
}

uint64_t hist_low(const struct hist *hist, size_t index)
{
	unsigned int shift = shift_of(hist, index);

	return (uint64_t)(index - ((size_t)shift << (hist->bits - 1))) << shift;
}

uint64_t hist_high(const struct hist *hist, size_t index)
{
	return hist_low(hist, index) + (UINT64_C(1) << shift_of(hist, index)) - 1;
}

uint64_t hist_total(const struct hist *hist)
{
	uint64_t total = 0;

	for (size_t i = 0; i < hist->length; i++)
		total += hist->counts[i];
	return total;
}

void hist_merge(struct hist *hist, const struct hist *from)
{
	for (size_t i = 0; i < hist->length; i++)
		hist->counts[i] += from->counts[i];
}
