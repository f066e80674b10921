// SPDX-License-Identifier: GPL-2.0-or-later
/* What programs do with an allocator. */
#include "patterns.h"

#define PAGE	4096U

static uint32_t random_state = 1;

static uint32_t random32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

/* 16 bytes to 8 KiB, small ones more often. */
static size_t size_of(size_t bytes)
{
	uint32_t random = random32();

	return bytes ? bytes : 16 + random % (64U << (random >> 16) % 8);
}

/*
 * A block is had when it can be written to: the first touch of its pages is part of
 * what it costs.
 */
static inline char *get(const struct allocator *allocator, size_t bytes, uint32_t *sample)
{
	uint64_t begin = sample ? ticks() : 0;
	char *block = allocator->alloc(bytes);

	for (size_t at = 0; block && at < bytes; at += PAGE)
		*(volatile char *)(block + at) = 1;
	if (sample)
		*sample = (uint32_t)(ticks() - begin);
	return block;
}

static inline void put(const struct allocator *allocator, char *block, uint32_t *sample)
{
	uint64_t begin = sample ? ticks() : 0;

	allocator->free(block);
	if (sample)
		*sample = (uint32_t)(ticks() - begin);
}

#define SAMPLE(which, at)	(samples ? &samples->which[at] : NULL)

/* One block at a time. */
static int pair(const struct allocator *allocator, size_t bytes, size_t operations,
		const struct samples *samples)
{
	for (size_t i = 0; i < operations; i++) {
		char *block = get(allocator, size_of(bytes), SAMPLE(alloc, i));

		if (!block)
			return -1;
		put(allocator, block, SAMPLE(free, i));
	}
	return 0;
}

/* Blocks are held in a ring: the oldest goes when a new one comes, or a random one. */
static int ring(const struct allocator *allocator, size_t bytes, size_t operations,
		const struct samples *samples, int any)
{
	static char *held[HELD_MAX];
	size_t freed = 0;

	for (size_t i = 0; i < operations; i++) {
		size_t at = (any ? random32() : i) % HELD_MAX;

		if (held[at])
			put(allocator, held[at], SAMPLE(free, freed)), freed++;
		held[at] = get(allocator, size_of(bytes), SAMPLE(alloc, i));
		if (!held[at])
			return -1;
	}
	for (size_t at = 0; at < HELD_MAX; at++) {
		if (!held[at])
			continue;
		put(allocator, held[at], SAMPLE(free, freed));
		freed++;
		held[at] = NULL;
	}
	return 0;
}

static int queue(const struct allocator *allocator, size_t bytes, size_t operations,
		 const struct samples *samples)
{
	return ring(allocator, bytes, operations, samples, 0);
}

static int replace(const struct allocator *allocator, size_t bytes, size_t operations,
		   const struct samples *samples)
{
	return ring(allocator, bytes, operations, samples, 1);
}

/* All of them, then none of them, and again. */
static int burst(const struct allocator *allocator, size_t bytes, size_t operations,
		 const struct samples *samples)
{
	static char *held[HELD_MAX];

	for (size_t done = 0; done < operations;) {
		size_t count = operations - done < HELD_MAX ? operations - done : HELD_MAX;

		for (size_t i = 0; i < count; i++) {
			held[i] = get(allocator, size_of(bytes), SAMPLE(alloc, done + i));
			if (!held[i])
				return -1;
		}
		for (size_t i = 0; i < count; i++)
			put(allocator, held[i], SAMPLE(free, done + i));
		done += count;
	}
	return 0;
}

const struct pattern patterns[] = {
	{ "pair", "one block, freed at once", pair },
	{ "queue", "1024 blocks, the oldest is freed first", queue },
	{ "replace", "1024 blocks, a random one is freed", replace },
	{ "burst", "1024 blocks allocated, then all freed", burst },
};

const size_t pattern_count = sizeof(patterns) / sizeof(patterns[0]);
