// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes one word of a cache line after another, and so fills a cache. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ISOLATOR_NO_SHORT_NAMES
#include <isolator.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "interfere/work.h"

#define BATCH 4096	/* accesses between two looks at the count */
#define LINE 64
#define KIB UINT64_C(1024)
#define LEAST (4 * KIB)
#define MIB (KIB * KIB)
#define UNKNOWN (64 * MIB)	/* where a machine tells no caches: more than most have */
#define BEYOND 2		/* of the last cache, so that memory has to be asked */

/* What the kernel could give without swapping; 0: it does not say. */
static uint64_t available(void)
{
	size_t size;
	char *text = file_read("/proc/meminfo", &size);
	const char *at = text ? strstr(text, "\nMemAvailable:") : NULL;
	uint64_t kib = at ? strtoull(at + strlen("\nMemAvailable:"), NULL, 10) : 0;

	free(text);
	return kib * KIB;
}

/* The bytes of the cache of @cpu at @level, 0: the last one; 0: it has none. */
static uint64_t cache_of(const struct isolator_topology *topology, int cpu, unsigned int level)
{
	struct isolator_cache cache = ISOLATOR_CACHE_INIT;
	unsigned int last = 0;
	uint64_t bytes = 0;

	for (unsigned int i = 0; !isolator_topology_cache(topology, cpu, i, &cache); i++) {
		if (cache.type == ISOLATOR_CACHE_INSTRUCTION || !cache.bytes)
			continue;
		if (level ? cache.level == level : cache.level > last) {
			last = cache.level;
			bytes = cache.bytes;
		}
	}
	return bytes;
}

/* Each slot's bytes, by the caches of its CPU; false: one has no such cache. */
static bool set_sizes(struct work_shared *shared, unsigned int level, bool beyond)
{
	struct isolator_topology *topology;
	bool good = true;

	if (isolator_topology_read(NULL, &topology) < 0)
		return false;
	for (size_t i = 0; i < shared->count; i++) {
		shared->slots[i].bytes = cache_of(topology, shared->slots[i].cpu, level) *
			(beyond ? BEYOND : 1);
		good &= shared->slots[i].bytes > 0;
	}
	isolator_topology_free(topology);
	return good;
}

static int settle(struct work *work)
{
	unsigned int level = *work->variant == 'l' ? (unsigned int)(work->variant[1] - '0') : 0;
	struct work_shared *shared = work->shared;
	bool beyond = !strcmp(work->variant, "memory");
	bool told = set_sizes(shared, level, beyond);
	uint64_t most = available() / 2 / shared->count / LEAST * LEAST, bytes;
	bool cut = false;

	if (!told && level) {
		error_say("cache:%s: this machine tells of no such cache on each of these CPUs: cache, without a level, does without",
			  work->variant);
		return -1;
	}
	for (size_t i = 0; i < shared->count; i++) {
		bytes = told ? shared->slots[i].bytes : UNKNOWN;
		cut |= most && bytes > most;
		shared->slots[i].bytes = most && bytes > most ? most : bytes;
	}
	bytes = shared->slots[0].bytes;
	work->words = text_format("random reads and writes in %llu %s on each CPU%s",
				  (unsigned long long)(bytes / (bytes % MIB ? KIB : MIB)),
				  bytes % MIB ? "KiB" : "MiB",
				  cut ? ", as no more memory is available" :
				  !told ? ", as this machine does not tell its caches" :
				  beyond ? ", twice its last cache" :
				  level == 1 ? ", its cache of level 1" :
				  level == 2 ? ", its cache of level 2" :
				  level == 3 ? ", its cache of level 3" : ", its last cache");
	return 0;
}

static void run(struct work *work) __attribute__((noreturn));

static void run(struct work *work)
{
	uint64_t bytes = work->slot->bytes, lines = bytes / LINE, number = 88172645463325252;
	uint64_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	volatile uint64_t *word = memory;

	if (memory == MAP_FAILED)
		work_fail(work, "no memory: %llu bytes are asked for", (unsigned long long)bytes);
	/* Not the page of zeros: each its own. */
	memset(memory, 1, bytes);
	work_ready(work);
	for (;;) {
		for (int i = 0; i < BATCH; i++) {
			/* xorshift, Marsaglia 2003: 64 bits, none of them costly */
			number ^= number << 13;
			number ^= number >> 7;
			number ^= number << 17;
			word[((number >> 32) * (lines & UINT32_MAX) >> 32) *
			     (LINE / sizeof(*word))]++;
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
