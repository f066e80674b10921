// SPDX-License-Identifier: LGPL-2.1-or-later
/* What tests of pools need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pools.h"

static cpu_set_t allowed;

static void look_at_allowed(void)
{
	if (!CPU_COUNT(&allowed))
		sched_getaffinity(0, sizeof(allowed), &allowed);
}

int pools_cpu(unsigned int n)
{
	look_at_allowed();
	n %= (unsigned int)CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && n-- == 0)
			return cpu;
	return -1;
}

bool pools_two_cpus(void)
{
	look_at_allowed();
	return CPU_COUNT(&allowed) > 1;
}

void pools_pin(int cpu)
{
	cpu_set_t one;

	look_at_allowed();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0) {
		perror("sched_setaffinity");
		exit(1);
	}
}

struct isolator_pool *pools_take(uint64_t bytes)
{
	struct isolator_pool_options options = ISOLATOR_POOL_OPTIONS_INIT;
	struct isolator_pool *pool = NULL;
	int error;

	options.bytes = bytes;
	options.flags = ISOLATOR_POOL_NO_MLOCK | ISOLATOR_POOL_NO_HUGE;
	error = isolator_pool_create(&options, &pool);
	if (error >= 0)
		error = isolator_pool_use(pool);
	if (error < 0) {
		printf("Bail out! no pool: %s\n", isolator_strerror(error));
		exit(1);
	}
	return pool;
}

struct isolator_pool_stats pools_stat(struct isolator_pool *pool)
{
	struct isolator_pool_stats stat = ISOLATOR_POOL_STATS_INIT;
	int error = isolator_pool_stat(pool, &stat);

	if (error < 0) {
		printf("Bail out! no statistics: %s\n", isolator_strerror(error));
		exit(1);
	}
	return stat;
}

static const char *wrong_small(const struct isolator_pool *pool, const struct run *run)
{
	const struct size_class *size = &pool->classes[run->class];
	unsigned int free_blocks = 0;

	for (unsigned int word = 0; word < RUN_WORDS; word++) {
		free_blocks += (unsigned int)__builtin_popcountll(run->free[word]);
		if (!run->free[word] != !(run->words >> word & 1))
			return "words and free disagree";
	}
	if (free_blocks + run->used != size->capacity)
		return "used and free blocks are not the capacity";
	for (unsigned int block = size->capacity; block < 64 * RUN_WORDS; block++)
		if (run->free[block / 64] >> (block % 64) & 1)
			return "a block beyond the capacity is free";
	return NULL;
}

static const char *wrong_partial(const struct isolator_pool *pool, uint32_t *listed)
{
	for (unsigned int class = 0; class < CLASSES; class++) {
		uint32_t before = RUN_NONE;

		for (uint32_t at = pool->classes[class].partial; at != RUN_NONE;
		     before = at, at = pool->runs[at].next) {
			const struct run *run = &pool->runs[at];

			if (at >= pool->run_count || ++*listed > pool->run_count)
				return "a list of partial runs leads astray";
			if (run->kind != RUN_SMALL || run->class != class || run->prev != before)
				return "a list of partial runs has a wrong entry";
			if (run->used == pool->classes[class].capacity)
				return "a full run is listed";
			if (!run->used && (!(pool->empties >> class & 1) ||
					   pool->classes[class].empty != at))
				return "a run without a block is kept unasked";
		}
	}
	return NULL;
}

static const char *wrong_spans(const struct isolator_pool *pool, uint32_t *listed)
{
	for (unsigned int level = 0; level < SPAN_LEVELS; level++) {
		if (!pool->span_lists[level] != !(pool->span_levels >> level & 1))
			return "levels and lists of spans disagree";
		for (unsigned int list = 0; list < SPAN_LISTS; list++) {
			uint32_t at = pool->span_heads[level][list];

			if ((at == RUN_NONE) != !(pool->span_lists[level] >> list & 1))
				return "lists and heads of spans disagree";
			for (uint32_t before = RUN_NONE; at != RUN_NONE;
			     before = at, at = pool->runs[at].next) {
				if (at >= pool->run_count || ++*listed > pool->run_count)
					return "a list of spans leads astray";
				if (pool->runs[at].kind != RUN_FREE ||
				    pool->runs[at].prev != before)
					return "a list of spans has a wrong entry";
			}
		}
	}
	return NULL;
}

const char *pools_wrong(const struct isolator_pool *pool)
{
	uint32_t spans = 0, partial = 0, listed_spans = 0, listed_partial = 0;
	uint64_t used = 0, blocks = 0;
	bool free_before = false;
	const char *wrong;

	for (uint32_t at = 0; at < pool->run_count;) {
		const struct run *run = &pool->runs[at];
		uint32_t length = run->kind == RUN_SMALL ? 1 : run->length;
		const struct run *last = &pool->runs[at + length - 1];

		if (!length || length > pool->run_count - at)
			return "a span is too long";
		if (run->kind == RUN_FREE) {
			if (free_before)
				return "two free spans touch";
			if (last->kind != RUN_FREE || last->length != length)
				return "a free span's ends disagree";
			spans++;
		} else if (run->kind == RUN_SMALL) {
			wrong = wrong_small(pool, run);
			if (wrong)
				return wrong;
			partial += run->used < pool->classes[run->class].capacity;
			used += (uint64_t)run->used * pool->classes[run->class].bytes;
			blocks += run->used;
		} else if (run->kind == RUN_LARGE) {
			if (length > 1 && last->kind != RUN_TAIL)
				return "a large block has no tail";
			used += (uint64_t)length << RUN_SHIFT;
			blocks++;
		} else {
			return "a tail without a large block";
		}
		free_before = run->kind == RUN_FREE;
		at += length;
	}
	wrong = wrong_partial(pool, &listed_partial);
	if (!wrong)
		wrong = wrong_spans(pool, &listed_spans);
	if (wrong)
		return wrong;
	if (listed_partial != partial)
		return "a partial run is not listed";
	if (listed_spans != spans)
		return "a free span is not listed";
	if (used != pool->used_bytes)
		return "used_bytes is not what is used";
	if (blocks != pool->allocs - pool->frees)
		return "allocs and frees are not what is there";
	return pool->busy ? "it is left busy" : NULL;
}

uint32_t pools_longest_span(const struct isolator_pool *pool)
{
	uint32_t longest = 0;

	for (uint32_t at = 0; at < pool->run_count;) {
		const struct run *run = &pool->runs[at];

		if (run->kind == RUN_FREE && run->length > longest)
			longest = run->length;
		at += run->kind == RUN_SMALL ? 1 : run->length;
	}
	return longest;
}
