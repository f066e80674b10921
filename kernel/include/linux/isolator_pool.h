/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolator for code of the kernel: memory of an isolated CPU's own.  Objects of one size, all
 * there from the beginning: a quiet section takes and gives them back without a lock or a call
 * of the page or slab allocator.  Other CPUs return what they were given by a list without a
 * lock, from which the owner collects.  Documentation/core-api/isolator.rst has the rules.
 */
#ifndef _LINUX_ISOLATOR_POOL_H
#define _LINUX_ISOLATOR_POOL_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/types.h>

struct isolator_caller;
struct isolator_pool;

/* isolator_pool_create(): fill free objects with a pattern, and look whether it is still there. */
#define ISOLATOR_POOL_POISON	BIT(0)

/* The most bytes of all objects of a pool. */
#define ISOLATOR_POOL_BYTES_MAX	BIT(30)

/**
 * struct isolator_pool_stat - what became of a pool's objects
 * @size: of an object, in bytes, as rounded up
 * @count: how many there are
 * @free: that the owner can take without collecting
 * @allocs: taken by the owner
 * @frees: given back by the owner
 * @collected: of the returned ones, back in the owner's hands
 * @returned: returned by others, or by an interrupt
 * @empty: allocations for which there was none
 * @foreign: calls that were the owner's to make, and were made by somebody else; refused
 * @invalid: addresses that are no object of this pool; refused
 * @doubled: objects that nobody had, given back once more; refused
 * @overwritten: free objects that somebody wrote to; with ISOLATOR_POOL_POISON only
 */
struct isolator_pool_stat {
	u32	size;
	u32	count;
	u32	free;
	u64	allocs;
	u64	frees;
	u64	collected;
	u64	returned;
	u64	empty;
	u64	foreign;
	u64	invalid;
	u64	doubled;
	u64	overwritten;
};

#ifdef CONFIG_ISOLATOR

struct isolator_pool *isolator_pool_create(const struct isolator_caller *caller, size_t size,
					   unsigned int count, unsigned int flags);
int isolator_pool_destroy(struct isolator_pool *pool);
void *isolator_pool_alloc(struct isolator_pool *pool);
int isolator_pool_free(struct isolator_pool *pool, void *object);
int isolator_pool_return(struct isolator_pool *pool, void *object);
unsigned int isolator_pool_collect(struct isolator_pool *pool, unsigned int max);
void isolator_pool_stat(const struct isolator_pool *pool, struct isolator_pool_stat *stat);

#else

static inline struct isolator_pool *isolator_pool_create(const struct isolator_caller *caller,
							 size_t size, unsigned int count,
							 unsigned int flags)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline int isolator_pool_destroy(struct isolator_pool *pool) { return 0; }
static inline void *isolator_pool_alloc(struct isolator_pool *pool) { return NULL; }
static inline int isolator_pool_free(struct isolator_pool *pool, void *object) { return -EINVAL; }
static inline int isolator_pool_return(struct isolator_pool *pool, void *object)
{
	return -EINVAL;
}

static inline unsigned int isolator_pool_collect(struct isolator_pool *pool, unsigned int max)
{
	return 0;
}

static inline void isolator_pool_stat(const struct isolator_pool *pool,
				      struct isolator_pool_stat *stat) { }

#endif

#endif /* _LINUX_ISOLATOR_POOL_H */
