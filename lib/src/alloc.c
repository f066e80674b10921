// SPDX-License-Identifier: LGPL-2.1-or-later
/* Allocate and free in the calling thread's pool, in constant time. */
#include <errno.h>
#include <string.h>

#include "pool.h"

#define LIKELY(condition)	__builtin_expect(!!(condition), 1)
#define UNLIKELY(condition)	__builtin_expect(!!(condition), 0)

static const uint16_t class_bytes[CLASSES] = {
	16, 32, 48, 64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 1024,
	1280, 1536, 1792, 2048, 2304, 2560, 3072, 4096, 5376, 8192,
};

static size_t round_up(size_t value, size_t to)
{
	return (value + to - 1) / to * to;
}

/* Where the runs begin when there is bookkeeping for @count of them. */
static size_t head_bytes(size_t count)
{
	return round_up(round_up(sizeof(struct isolator_pool), 64) +
			count * sizeof(struct run), RUN_BYTES);
}

size_t isolator_pool_footprint(uint64_t bytes)
{
	size_t count = (size_t)(bytes >> RUN_SHIFT);

	return head_bytes(count) + (count << RUN_SHIFT);
}

static void lay_out_classes(struct isolator_pool *pool)
{
	unsigned int class = 0;

	for (unsigned int i = 0; i < CLASSES; i++) {
		struct size_class *size = &pool->classes[i];

		size->bytes = class_bytes[i];
		size->capacity = RUN_BYTES / size->bytes;
		size->partial = RUN_NONE;
	}
	for (unsigned int i = 0; i <= FINE_MAX / 16; i++) {
		while (class_bytes[class] < i * 16)
			class++;
		pool->fine[i] = (uint8_t)class;
	}
	for (unsigned int i = FINE_MAX / 256; i <= SMALL_MAX / 256; i++) {
		while (class_bytes[class] < i * 256)
			class++;
		pool->coarse[i] = (uint8_t)class;
	}
}

struct isolator_pool *isolator_pool_lay_out(void *address, size_t length)
{
	struct isolator_pool *pool = address;
	/* As many as fit, each with its bookkeeping. */
	size_t count = (length - round_up(sizeof(*pool), 64)) /
		       (RUN_BYTES + sizeof(struct run));

	while (head_bytes(count) + (count << RUN_SHIFT) > length)
		count--;
	pool->runs = (struct run *)((char *)address + round_up(sizeof(*pool), 64));
	/* Aligned as a run is, since the memory is: so are the blocks. */
	pool->base = (uintptr_t)address + head_bytes(count);
	pool->bytes = (uint64_t)count << RUN_SHIFT;
	pool->run_count = (uint32_t)count;
	pool->cpu_now = &pool->cpu;
	lay_out_classes(pool);
	for (unsigned int level = 0; level < SPAN_LEVELS; level++)
		for (unsigned int list = 0; list < SPAN_LISTS; list++)
			pool->span_heads[level][list] = RUN_NONE;
	isolator_span_give(pool, 0, pool->run_count);
	return pool;
}

/*
 * Before a call touches the pool: nobody else is within, and the thread is still
 * where the pool is.  Returns 0 or an errno value.
 */
static inline int enter(struct isolator_pool *pool)
{
	if (UNLIKELY(pool->busy)) {
		pool->reentered++;
		return EBUSY;
	}
	if (UNLIKELY(*pool->cpu_now != pool->cpu)) {
		pool->moved++;
		return ENOTUNIQ;
	}
	pool->busy = true;
	/* A signal handler of this thread sees it before anything changes. */
	atomic_signal_fence(memory_order_seq_cst);
	return 0;
}

static inline void leave(struct isolator_pool *pool)
{
	atomic_signal_fence(memory_order_seq_cst);
	pool->busy = false;
}

static void push_partial(struct isolator_pool *pool, struct size_class *size, uint32_t index)
{
	struct run *run = &pool->runs[index];

	run->prev = RUN_NONE;
	run->next = size->partial;
	if (size->partial != RUN_NONE)
		pool->runs[size->partial].prev = index;
	size->partial = index;
}

static void drop_partial(struct isolator_pool *pool, struct size_class *size, uint32_t index)
{
	struct run *run = &pool->runs[index];

	if (run->next != RUN_NONE)
		pool->runs[run->next].prev = run->prev;
	if (run->prev != RUN_NONE)
		pool->runs[run->prev].next = run->next;
	else
		size->partial = run->next;
}

bool isolator_pool_drop_empties(struct isolator_pool *pool)
{
	bool any = pool->empties != 0;

	/* At most one run of each class. */
	while (pool->empties) {
		unsigned int class = (unsigned int)__builtin_ctz(pool->empties);
		uint32_t index = pool->classes[class].empty;

		pool->empties &= pool->empties - 1;
		drop_partial(pool, &pool->classes[class], index);
		isolator_span_give(pool, index, 1);
	}
	return any;
}

static uint32_t take_span(struct isolator_pool *pool, uint32_t count)
{
	uint32_t first = isolator_span_take(pool, count);

	if (UNLIKELY(first == RUN_NONE) && isolator_pool_drop_empties(pool))
		first = isolator_span_take(pool, count);
	return first;
}

/* Cut a fresh run into blocks of the class; RUN_NONE without one. */
static __attribute__((noinline)) uint32_t cut_run(struct isolator_pool *pool,
						  unsigned int class)
{
	struct size_class *size = &pool->classes[class];
	uint32_t index = take_span(pool, 1);
	uint32_t left = size->capacity;
	struct run *run;

	if (index == RUN_NONE)
		return RUN_NONE;
	run = &pool->runs[index];
	run->kind = RUN_SMALL;
	run->class = (uint8_t)class;
	run->bytes = size->bytes;
	run->inverse = (uint32_t)(((1ULL << 32) + size->bytes - 1) / size->bytes);
	run->used = 0;
	run->words = 0;
	for (unsigned int word = 0; word < RUN_WORDS; word++) {
		uint32_t here = left < 64 ? left : 64;

		run->free[word] = here == 64 ? UINT64_MAX : (1ULL << here) - 1;
		if (here)
			run->words |= 1ULL << word;
		left -= here;
	}
	push_partial(pool, size, index);
	return index;
}

static inline uintptr_t take_small(struct isolator_pool *pool, unsigned int class)
{
	struct size_class *size = &pool->classes[class];
	uint32_t index = size->partial;
	struct run *run;
	unsigned int word, bit;

	if (UNLIKELY(index == RUN_NONE)) {
		index = cut_run(pool, class);
		if (index == RUN_NONE)
			return 0;
	}
	run = &pool->runs[index];
	if (!run->used)
		pool->empties &= ~(1U << class);
	word = (unsigned int)__builtin_ctzll(run->words);
	bit = (unsigned int)__builtin_ctzll(run->free[word]);
	run->free[word] &= run->free[word] - 1;
	if (!run->free[word])
		run->words &= run->words - 1;
	if (++run->used == size->capacity)
		drop_partial(pool, size, index);
	pool->used_bytes += run->bytes;
	return pool->base + ((uintptr_t)index << RUN_SHIFT) +
	       (uintptr_t)(word * 64 + bit) * run->bytes;
}

static __attribute__((noinline)) uintptr_t take_large(struct isolator_pool *pool, size_t bytes)
{
	uint32_t count, first;

	if (bytes > pool->bytes)
		return 0;
	count = (uint32_t)((bytes + RUN_BYTES - 1) >> RUN_SHIFT);
	first = take_span(pool, count);
	if (first == RUN_NONE)
		return 0;
	/* The tail before the first: in a block of one run they are the same. */
	pool->runs[first + count - 1].kind = RUN_TAIL;
	pool->runs[first].kind = RUN_LARGE;
	pool->runs[first].length = count;
	pool->used_bytes += (uint64_t)count << RUN_SHIFT;
	return pool->base + ((uintptr_t)first << RUN_SHIFT);
}

static __attribute__((noinline, cold)) void *refuse(int error)
{
	isolator_failed(STEP_ALLOC, error);
	errno = error;
	return NULL;
}

EXPORT void *isolator_alloc(size_t bytes)
{
	struct isolator_pool *pool = isolator_pool_mine;
	uintptr_t block;
	int error;

	if (UNLIKELY(!pool))
		return refuse(ESRCH);
	error = enter(pool);
	if (UNLIKELY(error))
		return refuse(error);
	if (LIKELY(bytes <= FINE_MAX))
		block = take_small(pool, pool->fine[(bytes + 15) / 16]);
	else if (bytes <= SMALL_MAX)
		block = take_small(pool, pool->coarse[(bytes + 255) / 256]);
	else
		block = take_large(pool, bytes);
	if (UNLIKELY(!block)) {
		pool->exhausted++;
		leave(pool);
		return refuse(bytes > pool->bytes ? E2BIG : ENOMEM);
	}
	pool->allocs++;
	if (pool->used_bytes > pool->peak_bytes)
		pool->peak_bytes = pool->used_bytes;
	leave(pool);
	return (void *)block;
}

/* The run has no allocated block any more: keep it if the class has no other. */
static __attribute__((noinline)) void emptied(struct isolator_pool *pool,
					      struct size_class *size, uint32_t index)
{
	struct run *run = &pool->runs[index];

	if (run->next == RUN_NONE && run->prev == RUN_NONE) {
		pool->empties |= 1U << run->class;
		size->empty = index;
		return;
	}
	drop_partial(pool, size, index);
	isolator_span_give(pool, index, 1);
}

/* Each returns 0 or an errno value; then nothing has changed but a count. */
static inline int give_small(struct isolator_pool *pool, uint32_t index, uint32_t offset)
{
	struct run *run = &pool->runs[index];
	struct size_class *size = &pool->classes[run->class];
	uint32_t block = (uint32_t)(((uint64_t)offset * run->inverse) >> 32);
	unsigned int word = block / 64;
	uint64_t bit = 1ULL << (block % 64);

	if (UNLIKELY(block * run->bytes != offset || block >= size->capacity)) {
		pool->bad_frees++;
		return EINVAL;
	}
	if (UNLIKELY(run->free[word] & bit)) {
		pool->double_frees++;
		return EALREADY;
	}
	run->free[word] |= bit;
	run->words |= 1ULL << word;
	if (run->used-- == size->capacity)
		push_partial(pool, size, index);
	pool->used_bytes -= run->bytes;
	if (!run->used)
		emptied(pool, size, index);
	return 0;
}

static __attribute__((noinline)) int give_span(struct isolator_pool *pool, uint32_t index,
					       uint32_t offset)
{
	struct run *run = &pool->runs[index];

	if (run->kind == RUN_FREE) {
		pool->double_frees++;
		return EALREADY;
	}
	if (run->kind == RUN_TAIL || offset) {
		pool->bad_frees++;
		return EINVAL;
	}
	pool->used_bytes -= (uint64_t)run->length << RUN_SHIFT;
	isolator_span_give(pool, index, run->length);
	return 0;
}

/*
 * Not a block of the calling thread's pool: another pool's, or nobody's.  The
 * table of pools is looked at only here; others write to it.
 */
static __attribute__((noinline, cold)) int give_stray(struct isolator_pool *mine,
						      uintptr_t block)
{
	if (mine)
		mine->foreign_frees++;
	for (size_t i = 0; i < ISOLATOR_POOLS_MAX; i++) {
		struct pool_slot *slot = &isolator_pools[i];
		uintptr_t begin = atomic_load_explicit(&slot->begin, memory_order_acquire);

		if (!begin || block < begin ||
		    block >= atomic_load_explicit(&slot->end, memory_order_relaxed))
			continue;
		atomic_fetch_add_explicit(&slot->remote_frees, 1, memory_order_relaxed);
		return EXDEV;
	}
	return EFAULT;
}

EXPORT int isolator_free(void *block)
{
	struct isolator_pool *pool = isolator_pool_mine;
	uintptr_t offset;
	uint32_t index;
	int error;

	if (!block)
		return 0;
	if (UNLIKELY(!pool))
		return isolator_failed(STEP_FREE, give_stray(NULL, (uintptr_t)block));
	error = enter(pool);
	if (UNLIKELY(error))
		return isolator_failed(STEP_FREE, error);
	offset = (uintptr_t)block - pool->base;
	index = (uint32_t)(offset >> RUN_SHIFT);
	if (UNLIKELY(offset >= pool->bytes))
		error = give_stray(pool, (uintptr_t)block);
	else if (LIKELY(pool->runs[index].kind == RUN_SMALL))
		error = give_small(pool, index, offset & (RUN_BYTES - 1));
	else
		error = give_span(pool, index, offset & (RUN_BYTES - 1));
	if (LIKELY(!error))
		pool->frees++;
	leave(pool);
	return UNLIKELY(error) ? isolator_failed(STEP_FREE, error) : 0;
}
