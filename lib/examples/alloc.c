// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory for a loop that must not enter the kernel: a pool made beforehand, blocks
 * of it while it runs.  Needs no /dev/isolator.
 */
#define _GNU_SOURCE
#include "example.h"

struct sample {
	struct sample *next;
	uint64_t at_ns;
	char data[100];
};

int main(void)
{
	struct isolator_pool_options options = ISOLATOR_POOL_OPTIONS_INIT;
	struct isolator_pool_stats stats = ISOLATOR_POOL_STATS_INIT;
	struct isolator_pool *pool;
	struct sample *samples = NULL;
	int got, error, left;

	example_pin();
	options.bytes = 1 << 20;
	got = isolator_pool_create(&options, &pool);
	if (got == -EPERM || got == -EAGAIN) {
		printf("not locked: %s\n", isolator_strerror(got));
		options.flags = ISOLATOR_POOL_NO_MLOCK;
		got = isolator_pool_create(&options, &pool);
	}
	if (got < 0) {
		fprintf(stderr, "isolator_pool_create: %s\n", isolator_strerror(got));
		return 1;
	}
	error = isolator_pool_use(pool);
	if (error < 0) {
		fprintf(stderr, "isolator_pool_use: %s\n", isolator_strerror(error));
		return 1;
	}

	/* Here isolator_start() would follow; from now on no call enters the kernel. */
	for (int i = 0; i < 1000; i++) {
		struct sample *sample = isolator_alloc(sizeof(*sample));

		if (!sample) {
			fprintf(stderr, "isolator_alloc: %s\n", isolator_strerror(errno));
			return 1;
		}
		sample->at_ns = example_now_ns();
		sample->next = samples;
		samples = sample;
	}
	while (samples) {
		struct sample *next = samples->next;

		isolator_free(samples);
		samples = next;
	}

	isolator_pool_stat(pool, &stats);
	printf("CPU %d, node %d: %s, %s; %llu blocks, at most %llu of %llu KiB in use\n",
	       stats.cpu, stats.node,
	       stats.got & ISOLATOR_POOL_GOT_LOCKED ? "locked" : "not locked",
	       stats.huge_bytes ? "huge pages" : "small pages",
	       (unsigned long long)stats.allocs,
	       (unsigned long long)stats.peak_bytes / 1024,
	       (unsigned long long)stats.bytes / 1024);
	left = isolator_pool_destroy(pool);
	if (left)
		fprintf(stderr, "%d blocks were not freed\n", left);
	return left ? 1 : 0;
}
