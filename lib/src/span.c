// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Free runs of a pool, as spans: two-level segregated lists, so that taking and
 * giving back need no search.  A free span has its length at both ends, where its
 * neighbours find it.
 */
#include "pool.h"

/* A pool is rounded up to its pages, a length to its list: to less than the double. */
_Static_assert((ISOLATOR_POOL_BYTES_MAX >> RUN_SHIFT) * 2 <= 1ULL << (SPAN_LEVELS + 3),
	       "each length has a level");

static unsigned int highest(uint32_t value)
{
	return 31 - (unsigned int)__builtin_clz(value);
}

/* The list that a span of @length runs is in. */
static void list_of(uint32_t length, unsigned int *level, unsigned int *list)
{
	unsigned int top;

	if (length < SPAN_LISTS) {
		*level = 0;
		*list = length;
		return;
	}
	top = highest(length);
	*level = top - 3;
	*list = (length >> (top - 4)) & (SPAN_LISTS - 1);
}

static void insert(struct isolator_pool *pool, uint32_t first, uint32_t length)
{
	struct run *run = &pool->runs[first];
	unsigned int level, list;
	uint32_t *head;

	list_of(length, &level, &list);
	head = &pool->span_heads[level][list];
	run->kind = RUN_FREE;
	run->length = length;
	run->prev = RUN_NONE;
	run->next = *head;
	if (*head != RUN_NONE)
		pool->runs[*head].prev = first;
	*head = first;
	pool->runs[first + length - 1].kind = RUN_FREE;
	pool->runs[first + length - 1].length = length;
	pool->span_lists[level] |= 1U << list;
	pool->span_levels |= 1U << level;
}

static void take_out(struct isolator_pool *pool, uint32_t first)
{
	struct run *run = &pool->runs[first];
	unsigned int level, list;

	if (run->next != RUN_NONE)
		pool->runs[run->next].prev = run->prev;
	if (run->prev != RUN_NONE) {
		pool->runs[run->prev].next = run->next;
		return;
	}
	list_of(run->length, &level, &list);
	pool->span_heads[level][list] = run->next;
	if (run->next != RUN_NONE)
		return;
	pool->span_lists[level] &= ~(1U << list);
	if (!pool->span_lists[level])
		pool->span_levels &= ~(1U << level);
}

/* The first span of a list, all of whose spans have at least @count runs. */
static uint32_t find_surely(const struct isolator_pool *pool, uint32_t count)
{
	unsigned int level, list;
	uint32_t levels, lists;

	if (count >= SPAN_LISTS)
		count += (1U << (highest(count) - 4)) - 1;
	list_of(count, &level, &list);
	lists = pool->span_lists[level] & (UINT32_MAX << list);
	if (!lists) {
		levels = pool->span_levels & (UINT32_MAX << level << 1);
		if (!levels)
			return RUN_NONE;
		level = (unsigned int)__builtin_ctz(levels);
		lists = pool->span_lists[level];
	}
	return pool->span_heads[level][__builtin_ctz(lists)];
}

static uint32_t find(const struct isolator_pool *pool, uint32_t count)
{
	unsigned int level, list;
	uint32_t first = find_surely(pool, count);

	if (first != RUN_NONE)
		return first;
	/* In the list below some are long enough: the first one is looked at. */
	list_of(count, &level, &list);
	first = pool->span_heads[level][list];
	if (first != RUN_NONE && pool->runs[first].length >= count)
		return first;
	return RUN_NONE;
}

uint32_t isolator_span_take(struct isolator_pool *pool, uint32_t count)
{
	uint32_t first = find(pool, count);
	uint32_t length;

	if (first == RUN_NONE)
		return RUN_NONE;
	length = pool->runs[first].length;
	take_out(pool, first);
	if (length > count)
		insert(pool, first + count, length - count);
	return first;
}

void isolator_span_give(struct isolator_pool *pool, uint32_t first, uint32_t count)
{
	uint32_t after = first + count;

	/* A block that was here is gone: its address is no longer a block's. */
	pool->runs[first].kind = RUN_FREE;
	pool->runs[after - 1].kind = RUN_FREE;
	if (after < pool->run_count && pool->runs[after].kind == RUN_FREE) {
		count += pool->runs[after].length;
		take_out(pool, after);
	}
	if (first > 0 && pool->runs[first - 1].kind == RUN_FREE) {
		uint32_t before = pool->runs[first - 1].length;

		first -= before;
		count += before;
		take_out(pool, first);
	}
	insert(pool, first, count);
}

uint32_t isolator_span_longest(const struct isolator_pool *pool)
{
	unsigned int level;

	if (!pool->span_levels)
		return 0;
	level = highest(pool->span_levels);
	return pool->runs[pool->span_heads[level][highest(pool->span_lists[level])]].length;
}
