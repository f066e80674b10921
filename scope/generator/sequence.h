/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trigger numbers have 64 bits and begin at 1; what the target sees of them has 32 and is
 * never 0.  A generator that takes over lines begins behind the last sequence on them, so
 * that an answer to one of its predecessor's triggers belongs to none of its own.
 */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stdint.h>

#define SEQUENCE_PERIOD UINT64_C(0xffffffff)

/* @base: the last sequence before trigger 1, 0 if there was none. */
static inline uint32_t sequence_of(uint64_t number, uint32_t base)
{
	return (uint32_t)((number - 1 + base) % SEQUENCE_PERIOD) + 1;
}

/* Which trigger, up to @newest and nearest to it, has @sequence?  0: none. */
static inline uint64_t sequence_number(uint32_t sequence, uint64_t newest, uint32_t base)
{
	uint64_t back;

	if (!sequence || !newest)
		return 0;
	back = (sequence_of(newest, base) + SEQUENCE_PERIOD - sequence) % SEQUENCE_PERIOD;
	return back < newest ? newest - back : 0;
}

#endif
