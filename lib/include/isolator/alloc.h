/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libisolator: memory for a CPU that nothing interrupts.
 *
 * A pool is made beforehand: its memory is there, locked, in huge pages where
 * there are some, and on the NUMA node of its CPU.  One thread at a time, pinned
 * to that CPU, takes the pool for its own with isolator_pool_use(); from then on
 * isolator_alloc() and isolator_free() are about that pool.  They make no system
 * call, cause no page fault, and write and read no cache line that another CPU
 * writes.  Both take constant time at worst.  They need no /dev/isolator.
 *
 * Include <isolator.h>, which has this header.
 */
#ifndef ISOLATOR_ALLOC_H
#define ISOLATOR_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block begins at a multiple of this; one of at least a cache line at one of those. */
#define ISOLATOR_ALLOC_ALIGN		16U
#define ISOLATOR_ALLOC_LINE		64U

/* How many pools a process can have at a time. */
#define ISOLATOR_POOLS_MAX		256
#define ISOLATOR_POOL_BYTES_DEFAULT	(4ULL << 20)
#define ISOLATOR_POOL_BYTES_MIN		(64ULL << 10)
#define ISOLATOR_POOL_BYTES_MAX		(16ULL << 30)

/* Leave the pool unlocked: reclaim may then take its pages. */
#define ISOLATOR_POOL_NO_MLOCK		(1U << 0)
/* Take small pages only. */
#define ISOLATOR_POOL_NO_HUGE		(1U << 1)

/* What isolator_pool_create() achieved: */
/* All of the pool is locked. */
#define ISOLATOR_POOL_GOT_LOCKED	(1U << 0)
/* All of it is in pages of hugetlbfs. */
#define ISOLATOR_POOL_GOT_HUGETLB	(1U << 1)
/* All of it is in transparent huge pages. */
#define ISOLATOR_POOL_GOT_THP		(1U << 2)
/* Each page was asked for, and is on the NUMA node of the CPU. */
#define ISOLATOR_POOL_GOT_LOCAL		(1U << 3)
/* Each call can see whether its thread is still on the CPU, at the cost of a load. */
#define ISOLATOR_POOL_GOT_CPU_CHECK	(1U << 4)

struct isolator_pool;

/**
 * struct isolator_pool_options - what isolator_pool_create() is asked for
 * @size: sizeof(struct isolator_pool_options); ISOLATOR_POOL_OPTIONS_INIT sets it
 * @flags: ISOLATOR_POOL_NO_*
 * @bytes: room for blocks, ISOLATOR_POOL_BYTES_MIN to ISOLATOR_POOL_BYTES_MAX, 0
 *	for the default; rounded up
 * @cpu: the CPU whose pool it is, -1 for the one that the caller is pinned to
 * @reserved: 0
 */
struct isolator_pool_options {
	uint32_t size;
	uint32_t flags;
	uint64_t bytes;
	int32_t cpu;
	uint32_t reserved;
};

#define ISOLATOR_POOL_OPTIONS_INIT \
	{ sizeof(struct isolator_pool_options), 0, 0, -1, 0 }

/**
 * struct isolator_pool_stats - a pool, and what was asked of it since its creation
 * @size: in: sizeof(struct isolator_pool_stats); ISOLATOR_POOL_STATS_INIT sets it
 * @got: ISOLATOR_POOL_GOT_*
 * @cpu: the CPU whose pool it is
 * @node: the NUMA node of that CPU
 * @bytes: room for blocks
 * @huge_bytes: how much of the pool is in huge pages of either kind
 * @used_bytes: what the blocks take that are allocated, rounded to their classes
 * @peak_bytes: the most that @used_bytes ever was
 * @largest_bytes: the largest block that could be allocated now
 * @allocs: blocks allocated
 * @frees: blocks freed
 * @exhausted: allocations refused: no room
 * @double_frees: frees refused: the block was free
 * @bad_frees: frees refused: in the pool, but not the beginning of a block
 * @foreign_frees: frees refused: in no pool, or in another one
 * @remote_frees: frees refused: this pool's block, another thread's free
 * @moved: calls refused: the thread was on another CPU
 * @reentered: calls refused: made by a signal handler within another call
 */
struct isolator_pool_stats {
	uint32_t size;
	uint32_t got;
	int32_t cpu;
	int32_t node;
	uint64_t bytes;
	uint64_t huge_bytes;
	uint64_t used_bytes;
	uint64_t peak_bytes;
	uint64_t largest_bytes;
	uint64_t allocs;
	uint64_t frees;
	uint64_t exhausted;
	uint64_t double_frees;
	uint64_t bad_frees;
	uint64_t foreign_frees;
	uint64_t remote_frees;
	uint64_t moved;
	uint64_t reentered;
};

#define ISOLATOR_POOL_STATS_INIT \
	{ sizeof(struct isolator_pool_stats), 0, -1, -1, 0, 0, 0, 0, 0, \
	  0, 0, 0, 0, 0, 0, 0, 0, 0 }

/*
 * Make a pool; @options may be NULL for the defaults.  The caller runs on the
 * pool's CPU meanwhile and has its own affinity again afterwards.  Make pools
 * before isolator_start().  Returns ISOLATOR_POOL_GOT_*.
 */
int isolator_pool_create(const struct isolator_pool_options *options,
			 struct isolator_pool **pool);

/*
 * Give the memory of a pool back that is the caller's or nobody's.  Returns how
 * many of its blocks were still allocated; at most INT_MAX.
 */
int isolator_pool_destroy(struct isolator_pool *pool);

/*
 * Make @pool the calling thread's, which is pinned to the pool's CPU; what it
 * used before is nobody's then.  NULL: just that.  A thread's exit does the same.
 */
int isolator_pool_use(struct isolator_pool *pool);

/* Fill @stat for a pool that is the caller's or nobody's. */
int isolator_pool_stat(struct isolator_pool *pool, struct isolator_pool_stats *stat);

/*
 * A block of at least @size bytes of the calling thread's pool; what is in it is
 * undefined.  NULL on failure, with errno set.  A @size of 0 gives the smallest
 * block.
 */
void *isolator_alloc(size_t size)
	__attribute__((__warn_unused_result__, __alloc_size__(1), __assume_aligned__(16)));

/* Give a block of the calling thread's pool back; NULL is nothing to give. */
int isolator_free(void *block);

#ifdef __cplusplus
}
#endif

#endif /* ISOLATOR_ALLOC_H */
