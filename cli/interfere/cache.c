// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes one word of a cache line after another, and so fills a cache. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "interfere/sizes.h"

#define BATCH 4096	/* accesses between two looks at the count */
#define STRIDE 65	/* lines: a page and one, such that no prefetcher follows */

static const char *const patterns[] = {
	[LOAD_RANDOM] = "random", [LOAD_STRIDE] = "stride", [LOAD_SEQUENTIAL] = "sequential",
};

static int settle(struct work *work)
{
	static const char *const levels[] = { "l1", "l2", "l3", "memory" };
	enum load_level level = work->order.level;
	char *size;

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (!strcmp(work->variant, levels[i]))
			level = (enum load_level)(LOAD_L1 + i);
	if (sizes_set(work, level, level != LOAD_ANY || work->order.bytes, &size))
		return -1;
	work->words = text_format("%s reads and writes in %s", patterns[work->order.pattern],
				  size);
	free(size);
	return 0;
}

static uint64_t common(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* How far from one line to the next: with each of them, all are met before one again. */
static uint64_t step_of(enum load_pattern pattern, uint64_t lines)
{
	uint64_t step = pattern == LOAD_STRIDE && STRIDE < lines ? STRIDE : 1;

	while (common(step, lines) != 1)
		step++;
	return step;
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	volatile uint64_t *memory = sizes_take(work);
	uint64_t lines = work->slot->bytes / SIZES_LINE, at = 0, number = 88172645463325252;
	uint64_t step = step_of(work->order.pattern, lines);
	const size_t words = SIZES_LINE / sizeof(*memory);

	work_ready(work);
	for (;;) {
		for (int i = 0; i < BATCH; i++) {
			if (work->order.pattern == LOAD_RANDOM) {
				/* xorshift, Marsaglia 2003: 64 bits, none of them costly */
				number ^= number << 13;
				number ^= number >> 7;
				number ^= number << 17;
				at = (number >> 32) * (lines & UINT32_MAX) >> 32;
			} else {
				at += step;
				if (at >= lines)
					at -= lines;
			}
			memory[at * words]++;
		}
		work_did(work->slot, BATCH);
	}
}

const struct work_type work_cache = {
	.type = {
		.name = "cache",
		.variants = "l1|l2|l3|memory",
		.about = "reads and writes memory as large as a cache, and so evicts what others have in it",
		.operation = "accesses",
	},
	.settle = settle,
	.run = run,
};
