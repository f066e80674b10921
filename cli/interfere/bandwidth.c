// SPDX-License-Identifier: GPL-2.0-or-later
/* Moves memory as fast as it goes: the copy and the triad that STREAM has. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "interfere/sizes.h"

#define CHUNK 65536	/* bytes between two looks at the count */

static int settle(struct work *work)
{
	bool triad = !strcmp(work->variant, "triad");
	char *size;

	if (sizes_set(work, LOAD_MEMORY, work->order.bytes, &size))
		return -1;
	/* Whole parts of it are moved. */
	for (size_t i = 0; i < work->shared->count; i++)
		work->shared->slots[i].bytes += -work->shared->slots[i].bytes % (4 * CHUNK);
	work->words = text_format("%s in %s", triad ? "a triad (a = b + 3 c)" : "a copy", size);
	free(size);
	return 0;
}

static void copy(struct work *work, char *memory) __attribute__((noreturn));

static void copy(struct work *work, char *memory)
{
	uint64_t half = work->slot->bytes / 2;

	work_ready(work);
	for (;;)
		for (uint64_t at = 0; at < half; at += CHUNK) {
			memcpy(memory + at, memory + half + at, CHUNK);
			/* Whoever else could see it: the copy is made. */
			__asm__ volatile("" : : "r" (memory) : "memory");
			work_did(work->slot, 2 * CHUNK);
		}
}

static void triad(struct work *work, double *memory) __attribute__((noreturn));

static void triad(struct work *work, double *memory)
{
	/* A quarter of it is left over: three arrays of a power of two. */
	uint64_t quarter = work->slot->bytes / 4 / sizeof(*memory);
	double *a = memory, *b = memory + quarter, *c = memory + 2 * quarter;
	const uint64_t chunk = CHUNK / sizeof(*memory);

	work_ready(work);
	for (;;)
		for (uint64_t at = 0; at < quarter; at += chunk) {
			for (uint64_t i = at; i < at + chunk; i++)
				a[i] = b[i] + 3 * c[i];
			__asm__ volatile("" : : "r" (memory) : "memory");
			work_did(work->slot, 3 * CHUNK);
		}
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	void *memory = sizes_take(work);

	if (!strcmp(work->variant, "triad"))
		triad(work, memory);
	copy(work, memory);
}

const struct work_type work_bandwidth = {
	.type = {
		.name = "bandwidth",
		.variants = "copy|triad",
		.about = "copies memory that no cache holds, and so fills the way to it",
		.operation = "bytes read and written",
	},
	.settle = settle,
	.run = run,
};
