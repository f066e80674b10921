// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ISOLATOR_NO_SHORT_NAMES
#include <isolator.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "interfere/sizes.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define LEAST (4 * KIB)
#define UNKNOWN (64 * MIB)	/* where a machine does not tell its caches: more than most */
#define BEYOND 2		/* of the last cache, so that memory has to be asked */

/* The bytes of the cache of @cpu that is level @level, or the last one: *@is. */
static uint64_t cache_of(const struct isolator_topology *topology, int cpu, unsigned int level,
			 unsigned int *is)
{
	struct isolator_cache cache = ISOLATOR_CACHE_INIT;
	uint64_t bytes = 0;

	*is = 0;
	for (unsigned int i = 0; !isolator_topology_cache(topology, cpu, i, &cache); i++) {
		if (cache.type == ISOLATOR_CACHE_INSTRUCTION || !cache.bytes)
			continue;
		if (level ? cache.level == level : cache.level > *is) {
			*is = cache.level;
			bytes = cache.bytes;
		}
	}
	return bytes;
}

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

static char *size_words(uint64_t bytes)
{
	if (bytes % MIB)
		return text_format("%" PRIu64 " KiB", bytes / KIB);
	return text_format("%" PRIu64 " MiB", bytes / MIB);
}

/* Each slot's bytes by the caches of its CPU; the level, or 0: it has no such cache. */
static unsigned int by_cache(struct work *work, enum load_level level)
{
	unsigned int wanted = level >= LOAD_L1 && level <= LOAD_L3 ? (unsigned int)level : 0;
	unsigned int is = 0, least = ~0U;
	struct isolator_topology *topology;
	struct work_shared *shared = work->shared;

	if (isolator_topology_read(NULL, &topology) < 0)
		return 0;
	for (size_t i = 0; i < shared->count; i++) {
		shared->slots[i].bytes = cache_of(topology, shared->slots[i].cpu, wanted, &is);
		if (level == LOAD_MEMORY)
			shared->slots[i].bytes *= BEYOND;
		least = is < least ? is : least;
	}
	isolator_topology_free(topology);
	return least;
}

/* The same for all; returns how much that is together. */
static uint64_t set_all(struct work *work, uint64_t bytes)
{
	for (size_t i = 0; i < work->shared->count; i++)
		work->shared->slots[i].bytes = bytes;
	return bytes * work->shared->count;
}

static int refuse(const struct work *work, uint64_t sum, uint64_t limit)
{
	char *wanted = size_words(sum), *room = size_words(limit);

	error_say("%s: it would take %s on all its CPUs together, more than half of the memory that is available, %s: --size takes less",
		  work->type->type.name, wanted, room);
	free(wanted);
	free(room);
	return -1;
}

int sizes_set(struct work *work, enum load_level level, bool asked, char **words)
{
	uint64_t limit = available() / 2, sum = 0;
	struct work_shared *shared = work->shared;
	const char *why = "";
	unsigned int is = 0;
	char *size;

	if (work->order.bytes && work->order.bytes < LEAST) {
		error_say("%s: --size is at least 4K", work->type->type.name);
		return -1;
	}
	if (work->order.bytes)
		sum = set_all(work, work->order.bytes);
	else
		is = by_cache(work, level);
	if (!work->order.bytes && !is) {
		if (asked) {
			error_say("%s: this machine reports no such cache: give the amount of memory with --size",
				  work->type->type.name);
			return -1;
		}
		sum = set_all(work, UNKNOWN);
		why = ", as this machine does not tell its caches";
	}
	for (size_t i = 0; is && i < shared->count; i++)
		sum += shared->slots[i].bytes;
	if (limit && sum > limit) {
		if (asked)
			return refuse(work, sum, 2 * limit);
		set_all(work, limit / shared->count / LEAST * LEAST);
		why = ", as no more memory is available";
	}
	size = size_words(shared->slots[0].bytes);
	if (*why || work->order.bytes)
		*words = text_format("%s on each CPU%s", size, why);
	else if (level == LOAD_MEMORY)
		*words = text_format("%s on each CPU, twice the last cache (level %u)", size, is);
	else
		*words = text_format("%s on each CPU, its cache of level %u", size, is);
	free(size);
	return 0;
}

void *sizes_take(struct work *work)
{
	uint64_t bytes = work->slot->bytes;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	if (memory == MAP_FAILED)
		work_fail(work, "no memory: %" PRIu64 " bytes are asked for: --size takes less",
			  bytes);
	/* Not the page of zeros: each its own. */
	memset(memory, 1, bytes);
	return memory;
}
