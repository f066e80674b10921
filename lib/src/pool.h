/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pool from the inside.
 *
 *   | struct isolator_pool | struct run [run_count] | base: run 0 | run 1 | ... |
 *
 * Memory is handed out in runs of 16 KiB.  A run is cut into blocks of one class,
 * or begins a span of runs that is one large block or is free.  All bookkeeping is
 * outside the blocks: what a program writes beyond a block, or to one that it has
 * freed, can spoil other blocks but not the pool, and each address that comes back
 * is looked up, not believed.
 */
#ifndef ISOLATOR_POOL_H
#define ISOLATOR_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "internal.h"

#define RUN_SHIFT	14
#define RUN_BYTES	(1U << RUN_SHIFT)
/* One bit for each of the smallest blocks. */
#define RUN_WORDS	(RUN_BYTES / ISOLATOR_ALLOC_ALIGN / 64)
#define RUN_NONE	UINT32_MAX
#define CLASSES		25
/* Larger blocks are spans of runs. */
#define SMALL_MAX	8192U
/* Sizes up to this have a class per 16 bytes in the table, others per 256. */
#define FINE_MAX	1024U
/* Lists of free spans: by length up to 16 runs, then 16 to a doubling. */
#define SPAN_LISTS	16U
#define SPAN_LEVELS	18

enum run_kind {
	RUN_FREE,	/* free, or within a large block */
	RUN_SMALL,	/* blocks of one class */
	RUN_LARGE,	/* the first of a large block */
	RUN_TAIL,	/* the last of a large block */
};

/**
 * struct run - bookkeeping of one run
 * @next: in a list of free spans, or of runs of the class with a free block
 * @prev: the same
 * @length: of the span, in runs; in its first, if it is free also in its last
 * @used: blocks that are allocated
 * @kind: enum run_kind
 * @class: index of the class
 * @bytes: of a block of the class, here as well: one cache line less to look at
 * @inverse: 2^32 / @bytes, rounded up: for a division by a multiplication
 * @words: which of @free are not 0
 * @free: a bit for each block that is free
 */
struct run {
	uint32_t next;
	uint32_t prev;
	uint32_t length;
	uint16_t used;
	uint8_t kind;
	uint8_t class;
	uint32_t bytes;
	uint32_t inverse;
	uint64_t words;
	uint64_t free[RUN_WORDS];
} __attribute__((aligned(64)));

/**
 * struct size_class - blocks of one size
 * @bytes: of a block
 * @capacity: blocks in a run
 * @partial: the first run of the class with a free block
 * @empty: the one without an allocated block, if the class is in @empties
 */
struct size_class {
	uint32_t bytes;
	uint32_t capacity;
	uint32_t partial;
	uint32_t empty;
};

/* Written by its owner only, and by none while it has no owner. */
struct isolator_pool {
	uintptr_t base;
	uint64_t bytes;
	struct run *runs;
	/* Where the kernel keeps the number of the owner's CPU; &cpu without. */
	const volatile uint32_t *cpu_now;
	uint32_t cpu;
	uint32_t run_count;
	/* Within a call of the owner; a signal handler must not come in. */
	volatile bool busy;
	/* Classes that keep a run without an allocated block. */
	uint32_t empties;
	uint64_t used_bytes;
	uint64_t peak_bytes;
	uint64_t allocs;
	uint64_t frees;
	struct size_class classes[CLASSES];
	uint8_t fine[FINE_MAX / 16 + 1];
	uint8_t coarse[SMALL_MAX / 256 + 1];
	/* Free spans: levels that have any, lists of each that are not empty, heads. */
	uint32_t span_levels;
	uint32_t span_lists[SPAN_LEVELS];
	uint32_t span_heads[SPAN_LEVELS][SPAN_LISTS];
	uint64_t exhausted;
	uint64_t double_frees;
	uint64_t bad_frees;
	uint64_t foreign_frees;
	uint64_t moved;
	uint64_t reentered;
	uint64_t huge_bytes;
	uint32_t got;
	int32_t node;
	void *outer;
	size_t outer_length;
};

/**
 * struct pool_slot - a pool in the table of all, outside its own memory
 * @begin: first address of its blocks, 0: no pool
 * @end: the first beyond
 * @remote_frees: written by the threads that free what is not theirs
 * @owner: thread that uses the pool, 0: none
 * @pool: the pool
 */
struct pool_slot {
	_Atomic uintptr_t begin;
	_Atomic uintptr_t end;
	_Atomic uint64_t remote_frees;
	_Atomic pid_t owner;
	struct isolator_pool *pool;
} __attribute__((aligned(64)));

extern HIDDEN struct pool_slot isolator_pools[ISOLATOR_POOLS_MAX];

/* Not through a function, and never allocated late. */
extern HIDDEN __thread struct isolator_pool *isolator_pool_mine
	__attribute__((tls_model("initial-exec")));

/* @outer: the memory with the pages around it that nobody may touch. */
struct pool_memory {
	void *address;
	size_t length;
	void *outer;
	size_t outer_length;
	uint64_t huge_bytes;
	uint32_t got;
	int node;
};

/*
 * Memory of at least @wanted bytes, all there, local to the CPU that the caller
 * runs on.  Returns 0 or an errno value, and then leaves nothing behind.
 */
HIDDEN int isolator_memory_get(size_t wanted, unsigned int flags, struct pool_memory *memory);
HIDDEN void isolator_memory_put(void *outer, size_t outer_length);

/* Lay a pool out in memory that is all 0; @bytes is a multiple of a run. */
HIDDEN struct isolator_pool *isolator_pool_lay_out(void *address, size_t length);
/* How much memory a pool with room for @bytes takes. */
HIDDEN size_t isolator_pool_footprint(uint64_t bytes);

/* Spans of free runs: take @count runs, RUN_NONE if there are none; give back. */
HIDDEN uint32_t isolator_span_take(struct isolator_pool *pool, uint32_t count);
HIDDEN void isolator_span_give(struct isolator_pool *pool, uint32_t first, uint32_t count);
/* The longest that isolator_span_take() is sure to find. */
HIDDEN uint32_t isolator_span_longest(const struct isolator_pool *pool);
/* Give back the runs that classes keep without an allocated block. */
HIDDEN bool isolator_pool_drop_empties(struct isolator_pool *pool);

#endif
