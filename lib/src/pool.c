// SPDX-License-Identifier: LGPL-2.1-or-later
/* Pools as a whole: made, taken by a thread, looked at, given back. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ 1
#endif

#include "pool.h"

#define OPTIONS_FIRST	sizeof(struct isolator_pool_options)
#define FLAGS_KNOWN	(ISOLATOR_POOL_NO_MLOCK | ISOLATOR_POOL_NO_HUGE)

/* As many CPUs as a kernel can have. */
struct affinity {
	cpu_set_t sets[8];
};

#define AFFINITY_CPUS	(8 * CPU_SETSIZE)

/* Pages of their own: what is written here is no neighbour of what is written often. */
struct pool_slot isolator_pools[ISOLATOR_POOLS_MAX] __attribute__((aligned(4096)));
__thread struct isolator_pool *isolator_pool_mine
	__attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;

/* The slot of @pool, whatever the caller gives: it is compared, not followed. */
static struct pool_slot *slot_of(const struct isolator_pool *pool)
{
	for (size_t i = 0; pool && i < ISOLATOR_POOLS_MAX; i++)
		if (isolator_pools[i].pool == pool)
			return &isolator_pools[i];
	return NULL;
}

/* With the lock held. */
static void let_go(void)
{
	struct pool_slot *slot = slot_of(isolator_pool_mine);

	if (slot) {
		isolator_pool_mine->cpu_now = &isolator_pool_mine->cpu;
		atomic_store(&slot->owner, 0);
	}
	isolator_pool_mine = NULL;
}

static void thread_exits(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	let_go();
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* A child does not have the memory of its parent's pools. */
static void child_starts(void)
{
	memset(isolator_pools, 0, sizeof(isolator_pools));
	isolator_pool_mine = NULL;
	pthread_mutex_unlock(&lock);
}

static void register_handlers(void)
{
	pthread_key_create(&exit_key, thread_exits);
	pthread_atfork(before_fork, after_fork, child_starts);
}

static int get_affinity(struct affinity *affinity)
{
	memset(affinity, 0, sizeof(*affinity));
	return sched_getaffinity(0, sizeof(*affinity), affinity->sets) < 0 ? errno : 0;
}

/* The one CPU of the set, -1 if there are more. */
static int only_cpu(const struct affinity *affinity)
{
	int only = -1;

	if (CPU_COUNT_S(sizeof(*affinity), affinity->sets) != 1)
		return -1;
	for (int cpu = 0; cpu < AFFINITY_CPUS; cpu++)
		if (CPU_ISSET_S(cpu, sizeof(*affinity), affinity->sets))
			only = cpu;
	return only;
}

/*
 * Run on @cpu, so that the first touch is its own.  A thread that is pinned there
 * is left alone: a change of affinity would end its isolation.
 */
static int go_to(int *cpu, struct affinity *before, bool *moved)
{
	struct affinity there = { 0 };
	int error = get_affinity(before);
	int only;

	if (error)
		return error;
	only = only_cpu(before);
	if (*cpu == -1) {
		*cpu = only;
		return only < 0 ? ENOTUNIQ : 0;
	}
	if (only == *cpu)
		return 0;
	if (*cpu < 0 || *cpu >= AFFINITY_CPUS)
		return ENODEV;
	CPU_SET_S(*cpu, sizeof(there), there.sets);
	if (sched_setaffinity(0, sizeof(there), there.sets) < 0)
		return errno == EINVAL ? ENODEV : errno;
	*moved = true;
	return 0;
}

/* A bigger structure is that of a newer caller: fine while it asks for nothing new. */
static int check_options(const struct isolator_pool_options *options)
{
	if (options->size < OPTIONS_FIRST)
		return EINVAL;
	if (!options_end(options, sizeof(*options), options->size))
		return E2BIG;
	if (options->flags & ~FLAGS_KNOWN || options->reserved)
		return EINVAL;
	if (options->bytes && (options->bytes < ISOLATOR_POOL_BYTES_MIN ||
			       options->bytes > ISOLATOR_POOL_BYTES_MAX ||
			       options->bytes > SIZE_MAX / 4))
		return ERANGE;
	return 0;
}

/* A place in the table, or undone. */
static int publish(struct isolator_pool *pool)
{
	int error = EMFILE;

	pthread_once(&once, register_handlers);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < ISOLATOR_POOLS_MAX; i++) {
		struct pool_slot *slot = &isolator_pools[i];

		if (slot->pool)
			continue;
		slot->pool = pool;
		atomic_store(&slot->owner, 0);
		atomic_store(&slot->remote_frees, 0);
		atomic_store(&slot->end, pool->base + pool->bytes);
		/* Last: who finds the beginning finds the rest. */
		atomic_store_explicit(&slot->begin, pool->base, memory_order_release);
		error = 0;
		break;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

/* On the CPU whose pool it is. */
static int make(const struct isolator_pool_options *options, int cpu,
		struct isolator_pool **result)
{
	uint64_t bytes = options->bytes ? options->bytes : ISOLATOR_POOL_BYTES_DEFAULT;
	struct pool_memory memory;
	struct isolator_pool *pool;
	int error;

	bytes = (bytes + RUN_BYTES - 1) & ~(uint64_t)(RUN_BYTES - 1);
	error = isolator_memory_get(isolator_pool_footprint(bytes), options->flags, &memory);
	if (error)
		return error;
	pool = isolator_pool_lay_out(memory.address, memory.length);
	pool->cpu = (uint32_t)cpu;
	pool->node = memory.node;
	pool->got = memory.got;
	pool->huge_bytes = memory.huge_bytes;
	pool->outer = memory.outer;
	pool->outer_length = memory.outer_length;
#ifdef HAVE_RSEQ
	if (__rseq_size)
		pool->got |= ISOLATOR_POOL_GOT_CPU_CHECK;
#endif
	error = publish(pool);
	if (error) {
		isolator_memory_put(memory.outer, memory.outer_length);
		return error;
	}
	*result = pool;
	return 0;
}

EXPORT int isolator_pool_create(const struct isolator_pool_options *options,
				struct isolator_pool **pool)
{
	struct isolator_pool_options defaults = ISOLATOR_POOL_OPTIONS_INIT;
	struct isolator_pool *made;
	struct affinity before;
	bool moved = false;
	int error, cpu;

	if (!options)
		options = &defaults;
	error = pool ? check_options(options) : EINVAL;
	if (error)
		return isolator_failed(STEP_POOL, error);
	cpu = options->cpu;
	error = go_to(&cpu, &before, &moved);
	if (!error)
		error = make(options, cpu, &made);
	if (moved)
		sched_setaffinity(0, sizeof(before), before.sets);
	if (error)
		return isolator_failed(STEP_POOL, error);
	*pool = made;
	return (int)made->got;
}

/*
 * Run each path once, so that its code and the thread's data are there before they
 * are needed; then forget it.
 */
static void warm_up(struct isolator_pool *pool)
{
	struct isolator_pool before = *pool;
	int errno_before = errno;
	void *small = isolator_alloc(1);
	void *large = isolator_alloc(RUN_BYTES + 1);

	isolator_free(&before);
	isolator_free(small);
	isolator_free(small);
	isolator_free(large);
	if (!isolator_alloc((size_t)pool->bytes + 1))
		errno = errno_before;
	pool->peak_bytes = before.peak_bytes;
	pool->allocs = before.allocs;
	pool->frees = before.frees;
	pool->exhausted = before.exhausted;
	pool->double_frees = before.double_frees;
	pool->foreign_frees = before.foreign_frees;
	pool->moved = before.moved;
}

/* With the lock held.  Returns 0 or an errno value. */
static int take(struct isolator_pool *pool)
{
	struct pool_slot *slot = slot_of(pool);
	struct affinity affinity;
	int error, only;

	if (!slot)
		return EINVAL;
	if (pool == isolator_pool_mine)
		return 0;
	if (atomic_load(&slot->owner))
		return EBUSY;
	if (pool->busy)
		return ENOTRECOVERABLE;
	error = get_affinity(&affinity);
	if (error)
		return error;
	only = only_cpu(&affinity);
	if (only < 0)
		return ENOTUNIQ;
	if (only != (int)pool->cpu)
		return EXDEV;
	let_go();
	atomic_store(&slot->owner, gettid());
#ifdef HAVE_RSEQ
	if (__rseq_size)
		pool->cpu_now = &((const volatile struct rseq *)
				  ((char *)__builtin_thread_pointer() + __rseq_offset))->cpu_id;
#endif
	isolator_pool_mine = pool;
	/* Any value but NULL makes thread_exits() run. */
	pthread_setspecific(exit_key, pool);
	return 0;
}

EXPORT int isolator_pool_use(struct isolator_pool *pool)
{
	int error = 0;

	pthread_mutex_lock(&lock);
	if (pool)
		error = take(pool);
	else
		let_go();
	pthread_mutex_unlock(&lock);
	if (error)
		return isolator_failed(STEP_POOL, error);
	if (pool)
		warm_up(pool);
	return 0;
}

/* With the lock held: the slot of a pool that is the caller's or nobody's. */
static int mine_or_nobodys(const struct isolator_pool *pool, struct pool_slot **slot)
{
	*slot = slot_of(pool);
	if (!*slot)
		return EINVAL;
	if (pool != isolator_pool_mine && atomic_load(&(*slot)->owner))
		return EBUSY;
	return 0;
}

EXPORT int isolator_pool_destroy(struct isolator_pool *pool)
{
	struct pool_slot *slot;
	uint64_t left = 0;
	int error;

	pthread_mutex_lock(&lock);
	error = mine_or_nobodys(pool, &slot);
	if (!error) {
		if (pool == isolator_pool_mine)
			let_go();
		left = pool->allocs - pool->frees;
		atomic_store(&slot->begin, 0);
		slot->pool = NULL;
		isolator_memory_put(pool->outer, pool->outer_length);
	}
	pthread_mutex_unlock(&lock);
	if (error)
		return isolator_failed(STEP_POOL, error);
	return left > INT_MAX ? INT_MAX : (int)left;
}

EXPORT int isolator_pool_stat(struct isolator_pool *pool, struct isolator_pool_stats *stat)
{
	struct isolator_pool_stats full = { 0 };
	struct pool_slot *slot;
	uint32_t longest;
	int error;

	if (!stat || stat->size < sizeof(stat->size))
		return isolator_failed(STEP_POOL, EINVAL);
	pthread_mutex_lock(&lock);
	error = mine_or_nobodys(pool, &slot);
	if (!error) {
		/* What classes keep is there for large blocks too. */
		if (!pool->busy)
			isolator_pool_drop_empties(pool);
		longest = isolator_span_longest(pool);
		full = (struct isolator_pool_stats){
			.size = stat->size,
			.got = pool->got,
			.cpu = (int32_t)pool->cpu,
			.node = pool->node,
			.bytes = pool->bytes,
			.huge_bytes = pool->huge_bytes,
			.used_bytes = pool->used_bytes,
			.peak_bytes = pool->peak_bytes,
			.largest_bytes = (uint64_t)longest << RUN_SHIFT,
			.allocs = pool->allocs,
			.frees = pool->frees,
			.exhausted = pool->exhausted,
			.double_frees = pool->double_frees,
			.bad_frees = pool->bad_frees,
			.foreign_frees = pool->foreign_frees,
			.remote_frees = atomic_load(&slot->remote_frees),
			.moved = pool->moved,
			.reentered = pool->reentered,
		};
		memcpy(stat, &full, stat->size < sizeof(full) ? stat->size : sizeof(full));
	}
	pthread_mutex_unlock(&lock);
	return error ? isolator_failed(STEP_POOL, error) : 0;
}
