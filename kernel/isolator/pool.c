// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: pools of objects for a caller in the kernel.
 *
 * Which objects are free stands beside them, not in them: who writes to an object that it no
 * longer has spoils no list.  The owner's stack of free objects is private to it.  What others
 * give back goes to a list that is pushed to by a compare-and-exchange and emptied by an
 * exchange as a whole: an object is never taken off one by one, so that a head which has come
 * again (ABA) does no harm.
 *
 * Each object is in one place: to give one back, by whichever way, is to change it from taken,
 * which only one can do.
 *
 * What a quiet section may call is noinstr and calls nothing: raw atomics, no clock, no memset().
 * tools/quiet-check is run over this file's object.
 */
#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/instrumentation.h>
#include <linux/isolator_caller.h>
#include <linux/isolator_pool.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

/* What an allocation collects that finds nothing free: its time stays bounded. */
#define ISOLATOR_POOL_BATCH	16U

#define ISOLATOR_POOL_PATTERN	0x6b6b6b6b6b6b6b6bULL

/**
 * struct isolator_pool - objects of one size
 * @memory: where they lie, one behind the other
 * @size: of each; a multiple of a cache line
 * @count: how many there are
 * @poison: ISOLATOR_POOL_POISON
 * @owner: the task that takes and gives back
 * @taken: of each: 1, somebody has it
 * @stack: numbers of those that are free, the last one freed on top
 * @link: of each on the list of returned ones: the next one's number and 1, 0: none
 * @free: how high @stack is
 * @back: of those taken off the list, what was not put on @stack yet
 * @allocs: counted by the owner, as what follows
 * @frees: given back by it
 * @collected: put on @stack of those returned
 * @empty: allocations for which there was none
 * @overwritten: free ones whose pattern was gone
 * @returned: the list of returned ones: the first one's number and 1, 0: none
 * @returns: counted by anybody, as what follows
 * @foreign: calls that are the owner's
 * @invalid: addresses that are no object
 * @doubled: objects that nobody had
 */
struct isolator_pool {
	void			*memory;
	u32			size;
	u32			count;
	bool			poison;
	const struct task_struct *owner;
	u8			*taken;
	u32			*stack;
	u32			*link;
	u32			free;
	u32			back;
	u64			allocs;
	u64			frees;
	u64			collected;
	u64			empty;
	u64			overwritten;

	u32			returned ____cacheline_aligned_in_smp;
	atomic64_t		returns;
	atomic64_t		foreign;
	atomic64_t		invalid;
	atomic64_t		doubled;
};

static __always_inline void isolator_pool_count(u64 *count)
{
	WRITE_ONCE(*count, *count + 1);
}

/* Only the owner, and not what interrupts it: its stack of free objects has no lock. */
static __always_inline bool isolator_pool_mine(struct isolator_pool *pool)
{
	if (likely(current == pool->owner && in_task()))
		return true;
	raw_atomic64_inc(&pool->foreign);
	return false;
}

static __always_inline u64 *isolator_pool_words(struct isolator_pool *pool, u32 number)
{
	return pool->memory + (size_t)number * pool->size;
}

static __always_inline void isolator_pool_fill(struct isolator_pool *pool, u32 number)
{
	u64 *word = isolator_pool_words(pool, number);
	u32 i;

	/* WRITE_ONCE: else the compiler makes it a call of memset(). */
	for (i = 0; i < pool->size / sizeof(*word); i++)
		WRITE_ONCE(word[i], ISOLATOR_POOL_PATTERN);
}

static __always_inline bool isolator_pool_filled(struct isolator_pool *pool, u32 number)
{
	const u64 *word = isolator_pool_words(pool, number);
	u64 others = 0;
	u32 i;

	for (i = 0; i < pool->size / sizeof(*word); i++)
		others |= READ_ONCE(word[i]) ^ ISOLATOR_POOL_PATTERN;
	return !others;
}

/* If @object is one and somebody has it, nobody has: then its number is in @number. */
static __always_inline int isolator_pool_give(struct isolator_pool *pool, const void *object,
					      u32 *number)
{
	/* What lies below is far above. */
	unsigned long offset = object - pool->memory;

	if (offset >= (unsigned long)pool->size * pool->count || (u32)offset % pool->size) {
		raw_atomic64_inc(&pool->invalid);
		return -EINVAL;
	}
	*number = (u32)offset / pool->size;
	if (!raw_xchg(&pool->taken[*number], 0)) {
		raw_atomic64_inc(&pool->doubled);
		return -EALREADY;
	}
	return 0;
}

static __always_inline unsigned int isolator_pool_gather(struct isolator_pool *pool,
							 unsigned int max)
{
	unsigned int got;
	u32 number;

	for (got = 0; got < max; got++) {
		/* Ordered by the exchange: pairs with the push in isolator_pool_return(). */
		if (!pool->back && READ_ONCE(pool->returned))
			pool->back = raw_xchg(&pool->returned, 0);
		if (!pool->back)
			break;
		number = pool->back - 1;
		pool->back = READ_ONCE(pool->link[number]);
		pool->stack[pool->free++] = number;
		isolator_pool_count(&pool->collected);
	}
	return got;
}

/**
 * isolator_pool_alloc - take an object
 * @pool: of the current task
 *
 * What it holds is whatever was left there, of its last user or zeros; with
 * ISOLATOR_POOL_POISON a pattern.  Takes the same steps from the first object to the last: one
 * that finds none free collects at most 16 returned ones.
 *
 * The owner may hand the object to others.  A quiet section of another CPU may touch it only if
 * that section was entered after the pool was made, as isolator_pool_return() says.
 *
 * Context: the owner, in a quiet section or out of it; not an interrupt.
 * Return: the object, aligned to a cache line; NULL: none is left, or the pool is another task's,
 * which is counted.
 */
noinstr void *isolator_pool_alloc(struct isolator_pool *pool)
{
	u32 number;

	if (!isolator_pool_mine(pool))
		return NULL;
	if (unlikely(!pool->free) && !isolator_pool_gather(pool, ISOLATOR_POOL_BATCH)) {
		isolator_pool_count(&pool->empty);
		return NULL;
	}
	number = pool->stack[--pool->free];
	/* Before somebody else can have it, and give it back. */
	WRITE_ONCE(pool->taken[number], 1);
	isolator_pool_count(&pool->allocs);
	if (pool->poison && !isolator_pool_filled(pool, number))
		isolator_pool_count(&pool->overwritten);
	return isolator_pool_words(pool, number);
}
EXPORT_SYMBOL_GPL(isolator_pool_alloc);

/**
 * isolator_pool_free - give an object back, as its pool's owner
 * @pool: of the current task
 * @object: from isolator_pool_alloc()
 *
 * What is refused changes nothing but a counter.
 *
 * Context: the owner, in a quiet section or out of it; not an interrupt.
 * Return: 0; -EPERM: the pool is another task's, which may use isolator_pool_return(); -EINVAL:
 * no object of this pool begins there; -EALREADY: it was given back before.
 */
noinstr int isolator_pool_free(struct isolator_pool *pool, void *object)
{
	u32 number;
	int ret;

	if (!isolator_pool_mine(pool))
		return -EPERM;
	ret = isolator_pool_give(pool, object, &number);
	if (ret)
		return ret;
	if (pool->poison)
		isolator_pool_fill(pool, number);
	pool->stack[pool->free++] = number;
	isolator_pool_count(&pool->frees);
	return 0;
}
EXPORT_SYMBOL_GPL(isolator_pool_free);

/**
 * isolator_pool_return - give an object back from anywhere
 * @pool: any
 * @object: from isolator_pool_alloc(), handed over by the owner
 *
 * Interrupts nobody: the owner finds it at its next isolator_pool_collect(), or when it has
 * none left.  What is refused changes nothing but a counter.
 *
 * Context: any CPU, any context, NMI too; takes no lock.  A quiet section only if it was entered
 * after the pool was made: before, its CPU may have stale translations of the pool's addresses,
 * and would read and write what has had them last.
 * Return: 0; -EINVAL: no object of this pool begins there; -EALREADY: it was given back before.
 */
noinstr int isolator_pool_return(struct isolator_pool *pool, void *object)
{
	u32 number, first;
	int ret;

	ret = isolator_pool_give(pool, object, &number);
	if (ret)
		return ret;
	if (pool->poison)
		isolator_pool_fill(pool, number);
	raw_atomic64_inc(&pool->returns);
	first = READ_ONCE(pool->returned);
	do {
		WRITE_ONCE(pool->link[number], first);
		/* Full barrier, after the pattern and the link: pairs with the exchange. */
	} while (!raw_try_cmpxchg(&pool->returned, &first, number + 1));
	return 0;
}
EXPORT_SYMBOL_GPL(isolator_pool_return);

/**
 * isolator_pool_collect - take back what others have returned
 * @pool: of the current task
 * @max: objects, at most: the time it may take
 *
 * With nothing returned it is one load.
 *
 * Context: the owner, in a quiet section or out of it; not an interrupt.
 * Return: how many objects were collected; 0 also if the pool is another task's, which is
 * counted.
 */
noinstr unsigned int isolator_pool_collect(struct isolator_pool *pool, unsigned int max)
{
	return isolator_pool_mine(pool) ? isolator_pool_gather(pool, max) : 0;
}
EXPORT_SYMBOL_GPL(isolator_pool_collect);

/**
 * isolator_pool_stat - how a pool is used
 * @pool: any
 * @stat: filled in; each number is right for some moment
 *
 * Context: any.
 */
void isolator_pool_stat(const struct isolator_pool *pool, struct isolator_pool_stat *stat)
{
	*stat = (struct isolator_pool_stat) {
		.size		= pool->size,
		.count		= pool->count,
		.free		= READ_ONCE(pool->free),
		.allocs		= READ_ONCE(pool->allocs),
		.frees		= READ_ONCE(pool->frees),
		.collected	= READ_ONCE(pool->collected),
		.returned	= atomic64_read(&pool->returns),
		.empty		= READ_ONCE(pool->empty),
		.foreign	= atomic64_read(&pool->foreign),
		.invalid	= atomic64_read(&pool->invalid),
		.doubled	= atomic64_read(&pool->doubled),
		.overwritten	= READ_ONCE(pool->overwritten),
	};
}
EXPORT_SYMBOL_GPL(isolator_pool_stat);

static void isolator_pool_give_up(struct isolator_pool *pool)
{
	vfree(pool->memory);
	kvfree(pool->taken);
	kvfree(pool->stack);
	kvfree(pool->link);
	kfree(pool);
}

/**
 * isolator_pool_create - make a pool for a caller
 * @caller: started by the current task, which owns the pool; not in its section
 * @size: of an object, in bytes; rounded up to whole cache lines
 * @count: of objects, at least 1; together at most ISOLATOR_POOL_BYTES_MAX
 * @flags: 0 or ISOLATOR_POOL_POISON
 *
 * All memory is there at once, on the node of the caller's CPU, and stays: the kernel does not
 * swap its own.  Beside the objects it takes 9 bytes for each.  The pool may outlive the
 * isolation; its owner stays the task.  Quiet sections of other CPUs that have begun by now must
 * not be told of it or its objects before they are left: see isolator_pool_return().
 *
 * Context: process, may sleep.
 * Return: the pool; ERR_PTR(-EINVAL): the current task has not started @caller, or a number or
 * flag is wrong; ERR_PTR(-E2BIG): more than may be; ERR_PTR(-ENOMEM).
 */
struct isolator_pool *isolator_pool_create(const struct isolator_caller *caller, size_t size,
					   unsigned int count, unsigned int flags)
{
	struct isolator_pool *pool;
	int node;
	u32 i;

	if (caller->task != current || !size || !count || (flags & ~ISOLATOR_POOL_POISON))
		return ERR_PTR(-EINVAL);
	if (size > ISOLATOR_POOL_BYTES_MAX ||
	    (u64)ALIGN(size, SMP_CACHE_BYTES) * count > ISOLATOR_POOL_BYTES_MAX)
		return ERR_PTR(-E2BIG);
	node = cpu_to_node(caller->cpu);
	pool = kzalloc_node(sizeof(*pool), GFP_KERNEL, node);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->size = ALIGN(size, SMP_CACHE_BYTES);
	pool->count = count;
	pool->poison = flags & ISOLATOR_POOL_POISON;
	pool->owner = current;
	pool->memory = vzalloc_node((size_t)pool->size * count, node);
	pool->taken = kvzalloc_node(count * sizeof(*pool->taken), GFP_KERNEL, node);
	pool->stack = kvzalloc_node(count * sizeof(*pool->stack), GFP_KERNEL, node);
	pool->link = kvzalloc_node(count * sizeof(*pool->link), GFP_KERNEL, node);
	if (!pool->memory || !pool->taken || !pool->stack || !pool->link) {
		isolator_pool_give_up(pool);
		return ERR_PTR(-ENOMEM);
	}
	/* The first one on top. */
	for (i = 0; i < count; i++) {
		if (pool->poison)
			isolator_pool_fill(pool, i);
		pool->stack[i] = count - 1 - i;
	}
	pool->free = count;
	return pool;
}
EXPORT_SYMBOL_GPL(isolator_pool_create);

/**
 * isolator_pool_destroy - free a pool's memory
 * @pool: from isolator_pool_create(); NULL is fine
 *
 * The owner makes no other call meanwhile, in no section either.  Others may still return what
 * they have: ask again until it is all back.
 *
 * Context: process, may sleep, out of the owner's quiet section; any task.
 * Return: 0; -EBUSY: somebody has an object still, or is about to have returned it: nothing is
 * freed.
 */
int isolator_pool_destroy(struct isolator_pool *pool)
{
	if (!pool)
		return 0;
	/* Not by what is taken: who returns uses the pool until its push, which comes later. */
	isolator_pool_gather(pool, UINT_MAX);
	if (pool->free != pool->count)
		return -EBUSY;
	isolator_pool_give_up(pool);
	return 0;
}
EXPORT_SYMBOL_GPL(isolator_pool_destroy);
