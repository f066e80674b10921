// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: KUnit tests of pools: what is taken, given back, returned and refused. */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/isolator_caller.h>
#include <linux/isolator_pool.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sizes.h>
#include <linux/smp.h>

#define OBJECTS	64U

/* No isolation is needed: only whose it is matters. */
static struct isolator_pool *isolator_test_pool_of(struct kunit *test, size_t size,
						   unsigned int flags)
{
	const struct isolator_caller caller = { .cpu = raw_smp_processor_id(), .task = current };
	struct isolator_pool *pool = isolator_pool_create(&caller, size, OBJECTS, flags);

	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));
	return pool;
}

static struct isolator_pool_stat isolator_test_pool_stat(const struct isolator_pool *pool)
{
	struct isolator_pool_stat stat;

	isolator_pool_stat(pool, &stat);
	return stat;
}

static void isolator_test_pool_refused(struct kunit *test)
{
	const struct isolator_caller mine = { .task = current };
	const struct isolator_caller other = { };

	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_pool_create(&other, 64, 1, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_pool_create(&mine, 0, 1, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_pool_create(&mine, 64, 0, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_pool_create(&mine, 64, 1, 2)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_pool_create(&mine, SIZE_MAX, 1, 0)), -E2BIG);
	KUNIT_EXPECT_EQ(test, PTR_ERR(isolator_pool_create(&mine, 64, UINT_MAX, 0)), -E2BIG);
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(NULL), 0);
}

/* Each object once, aligned, apart from the others; the last one freed comes first. */
static void isolator_test_pool_all(struct kunit *test)
{
	struct isolator_pool *pool = isolator_test_pool_of(test, 100, 0);
	struct isolator_pool_stat stat = isolator_test_pool_stat(pool);
	void *object[OBJECTS];
	unsigned int i;

	KUNIT_EXPECT_EQ(test, stat.size, ALIGN(100, SMP_CACHE_BYTES));
	for (i = 0; i < OBJECTS; i++) {
		object[i] = isolator_pool_alloc(pool);
		KUNIT_ASSERT_NOT_NULL(test, object[i]);
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED((unsigned long)object[i], SMP_CACHE_BYTES));
		memset(object[i], i, stat.size);
	}
	KUNIT_EXPECT_NULL(test, isolator_pool_alloc(pool));
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(pool), -EBUSY);
	for (i = 0; i < OBJECTS; i++) {
		KUNIT_EXPECT_NULL(test, memchr_inv(object[i], i, stat.size));
		KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object[i]), 0);
	}
	KUNIT_EXPECT_PTR_EQ(test, isolator_pool_alloc(pool), object[OBJECTS - 1]);
	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object[OBJECTS - 1]), 0);
	stat = isolator_test_pool_stat(pool);
	KUNIT_EXPECT_EQ(test, stat.allocs, OBJECTS + 1);
	KUNIT_EXPECT_EQ(test, stat.frees, OBJECTS + 1);
	KUNIT_EXPECT_EQ(test, stat.empty, 1);
	KUNIT_EXPECT_EQ(test, stat.free, OBJECTS);
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(pool), 0);
}

/* By its owner: at most so many are collected at a time; without that, when none is left. */
static void isolator_test_pool_collect(struct kunit *test)
{
	struct isolator_pool *pool = isolator_test_pool_of(test, 64, 0);
	void *object[OBJECTS];
	unsigned int i;

	for (i = 0; i < OBJECTS; i++)
		object[i] = isolator_pool_alloc(pool);
	KUNIT_EXPECT_EQ(test, isolator_pool_collect(pool, OBJECTS), 0);
	for (i = 0; i < OBJECTS; i++)
		KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object[i]), 0);
	KUNIT_EXPECT_EQ(test, isolator_pool_collect(pool, 5), 5);
	KUNIT_EXPECT_EQ(test, isolator_test_pool_stat(pool).free, 5);
	for (i = 0; i < OBJECTS; i++)
		KUNIT_EXPECT_NOT_NULL(test, isolator_pool_alloc(pool));
	KUNIT_EXPECT_NULL(test, isolator_pool_alloc(pool));
	KUNIT_EXPECT_EQ(test, isolator_test_pool_stat(pool).collected, OBJECTS);
	for (i = 0; i < OBJECTS; i++)
		KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object[i]), 0);
	/* What was returned, and not collected, holds nothing up. */
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(pool), 0);
}

/* An address that is none, an object twice, each way: nothing changes. */
static void isolator_test_pool_hostile(struct kunit *test)
{
	struct isolator_pool *pool = isolator_test_pool_of(test, 64, 0);
	void *object = isolator_pool_alloc(pool);
	struct isolator_pool_stat stat;
	int i;

	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object - 64), -EINVAL);
	KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object + 64 * OBJECTS), -EINVAL);
	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object + 64), -EALREADY);
	KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object + 64), -EALREADY);
	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object), 0);
	for (i = 0; i < 1000; i++) {
		KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object), -EALREADY);
		KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object), -EALREADY);
	}
	object = isolator_pool_alloc(pool);
	KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object), 0);
	KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object), -EALREADY);
	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object), -EALREADY);
	stat = isolator_test_pool_stat(pool);
	KUNIT_EXPECT_EQ(test, stat.invalid, 4);
	KUNIT_EXPECT_EQ(test, stat.doubled, 2004);
	KUNIT_EXPECT_EQ(test, stat.free, OBJECTS - 1);
	KUNIT_EXPECT_EQ(test, isolator_pool_collect(pool, OBJECTS), 1);
	KUNIT_EXPECT_EQ(test, isolator_test_pool_stat(pool).free, OBJECTS);
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(pool), 0);
}

static void isolator_test_pool_poison(struct kunit *test)
{
	struct isolator_pool *pool = isolator_test_pool_of(test, 64, ISOLATOR_POOL_POISON);
	u8 *object = isolator_pool_alloc(pool);

	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object), 0);
	KUNIT_EXPECT_PTR_EQ(test, isolator_pool_alloc(pool), (void *)object);
	KUNIT_EXPECT_EQ(test, isolator_test_pool_stat(pool).overwritten, 0);
	KUNIT_EXPECT_EQ(test, isolator_pool_free(pool, object), 0);
	object[63]++;
	KUNIT_EXPECT_PTR_EQ(test, isolator_pool_alloc(pool), (void *)object);
	KUNIT_EXPECT_EQ(test, isolator_test_pool_stat(pool).overwritten, 1);
	KUNIT_EXPECT_EQ(test, isolator_pool_return(pool, object), 0);
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(pool), 0);
}

struct isolator_test_other {
	struct isolator_pool *pool;
	void *object[OBJECTS];
	unsigned int wrong;
	struct completion done;
};

/* What another thread may do, and what it may not. */
static int isolator_test_other(void *data)
{
	struct isolator_test_other *other = data;
	unsigned int i;

	other->wrong += !!isolator_pool_alloc(other->pool);
	other->wrong += isolator_pool_collect(other->pool, 1) != 0;
	for (i = 0; i < OBJECTS; i++)
		other->wrong += isolator_pool_free(other->pool, other->object[i]) != -EPERM;
	for (i = 0; i < OBJECTS; i++)
		other->wrong += isolator_pool_return(other->pool, other->object[i]) != 0;
	complete(&other->done);
	return 0;
}

static void isolator_test_pool_foreign(struct kunit *test)
{
	struct isolator_test_other *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	struct isolator_pool_stat stat;
	struct task_struct *thread;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->pool = isolator_test_pool_of(test, 64, ISOLATOR_POOL_POISON);
	init_completion(&other->done);
	for (i = 0; i < OBJECTS; i++) {
		other->object[i] = isolator_pool_alloc(other->pool);
		memset(other->object[i], i, 64);
	}
	thread = kthread_run(isolator_test_other, other, "isolator_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	wait_for_completion(&other->done);
	stat = isolator_test_pool_stat(other->pool);
	KUNIT_EXPECT_EQ(test, other->wrong, 0);
	KUNIT_EXPECT_EQ(test, stat.foreign, OBJECTS + 2);
	KUNIT_EXPECT_EQ(test, stat.returned, OBJECTS);
	KUNIT_EXPECT_EQ(test, stat.free, 0);
	KUNIT_EXPECT_EQ(test, isolator_pool_collect(other->pool, UINT_MAX), OBJECTS);
	for (i = 0; i < OBJECTS; i++)
		KUNIT_EXPECT_NOT_NULL(test, isolator_pool_alloc(other->pool));
	KUNIT_EXPECT_EQ(test, isolator_test_pool_stat(other->pool).overwritten, 0);
	for (i = 0; i < OBJECTS; i++)
		KUNIT_EXPECT_EQ(test, isolator_pool_free(other->pool, other->object[i]), 0);
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(other->pool), 0);
}

struct isolator_test_interrupt {
	struct irq_work work;
	struct isolator_pool *pool;
	struct task_struct *owner;
	void *object, *taken;
	unsigned int collected;
	int freed, returned;
	bool mine;
};

static void isolator_test_interrupt(struct irq_work *work)
{
	struct isolator_test_interrupt *in = container_of(work, struct isolator_test_interrupt,
							  work);

	in->mine = current == in->owner;
	in->taken = isolator_pool_alloc(in->pool);
	in->freed = isolator_pool_free(in->pool, in->object);
	in->returned = isolator_pool_return(in->pool, in->object);
	in->collected = isolator_pool_collect(in->pool, 1);
}

/* What interrupts a pool's owner is not its owner: it returns, as any other. */
static void isolator_test_pool_interrupt(struct kunit *test)
{
	struct isolator_test_interrupt in = {
		.work = IRQ_WORK_INIT_HARD(isolator_test_interrupt),
		.pool = isolator_test_pool_of(test, 64, 0),
		.owner = current,
	};

	in.object = isolator_pool_alloc(in.pool);
	preempt_disable();
	irq_work_queue(&in.work);
	while (irq_work_is_busy(&in.work))
		cpu_relax();
	preempt_enable();
	KUNIT_EXPECT_TRUE(test, in.mine);
	KUNIT_EXPECT_NULL(test, in.taken);
	KUNIT_EXPECT_EQ(test, in.freed, -EPERM);
	KUNIT_EXPECT_EQ(test, in.returned, 0);
	KUNIT_EXPECT_EQ(test, in.collected, 0);
	KUNIT_EXPECT_EQ(test, isolator_test_pool_stat(in.pool).foreign, 3);
	KUNIT_EXPECT_EQ(test, isolator_pool_collect(in.pool, OBJECTS), 1);
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(in.pool), 0);
}

/* So many that the two meet, however seldom both run. */
#define MANY	4096U

/* Two that return the same objects at the same time. */
struct isolator_test_twice {
	struct isolator_pool *pool;
	void *object[MANY];
	atomic_t round, over, given, refused;
};

static int isolator_test_twice(void *data)
{
	struct isolator_test_twice *twice = data;
	int i, ret, seen = 0;

	while (!kthread_should_stop()) {
		/* Pairs with who begins the round. */
		if (atomic_read_acquire(&twice->round) == seen) {
			cond_resched();
			continue;
		}
		seen++;
		for (i = 0; i < MANY; i++) {
			ret = isolator_pool_return(twice->pool, twice->object[i]);
			atomic_inc(ret ? &twice->refused : &twice->given);
		}
		atomic_inc_return_release(&twice->over); /* pairs with who waits for both */
	}
	return 0;
}

/* Collects while they return.  Returns how many came. */
static unsigned int isolator_test_twice_round(struct isolator_test_twice *twice)
{
	unsigned int i, came = 0;

	for (i = 0; i < MANY; i++)
		twice->object[i] = isolator_pool_alloc(twice->pool);
	atomic_set(&twice->over, 0);
	atomic_inc_return_release(&twice->round); /* pairs with isolator_test_twice() */
	while (atomic_read_acquire(&twice->over) < 2) { /* as above */
		came += isolator_pool_collect(twice->pool, MANY - came);
		cond_resched();
	}
	return came + isolator_pool_collect(twice->pool, MANY - came);
}

static int isolator_test_next_cpu(int cpu)
{
	cpu = cpumask_next(cpu, cpu_online_mask);
	return cpu < nr_cpu_ids ? cpu : cpumask_first(cpu_online_mask);
}

/* Each is given back once, whoever was faster, and none is lost on the way. */
static void isolator_test_pool_twice(struct kunit *test)
{
	const struct isolator_caller caller = { .cpu = raw_smp_processor_id(), .task = current };
	static struct isolator_test_twice twice;
	unsigned long end = jiffies + HZ / 2;
	struct isolator_pool_stat stat;
	struct task_struct *thread[2];
	int i, cpu = raw_smp_processor_id(), rounds;

	if (num_online_cpus() < 3)
		kunit_skip(test, "needs three CPUs");
	memset(&twice, 0, sizeof(twice));
	twice.pool = isolator_pool_create(&caller, 64, MANY, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(twice.pool));
	for (i = 0; i < 2; i++) {
		cpu = isolator_test_next_cpu(cpu);
		thread[i] = kthread_run_on_cpu(isolator_test_twice, &twice, cpu, "isolator_test");
		KUNIT_ASSERT_FALSE(test, IS_ERR(thread[i]));
	}
	for (rounds = 0; rounds < 1000 && time_before(jiffies, end);) {
		unsigned int came = isolator_test_twice_round(&twice);

		rounds++;
		/* No further: the list is no list any more. */
		KUNIT_EXPECT_EQ(test, came, MANY);
		KUNIT_EXPECT_EQ(test, atomic_read(&twice.given), rounds * MANY);
		if (came != MANY || atomic_read(&twice.given) != rounds * MANY)
			break;
	}
	for (i = 0; i < 2; i++)
		kthread_stop(thread[i]);
	stat = isolator_test_pool_stat(twice.pool);
	kunit_info(test, "%d rounds\n", rounds);
	KUNIT_EXPECT_EQ(test, atomic_read(&twice.refused), rounds * MANY);
	KUNIT_EXPECT_EQ(test, stat.doubled, rounds * MANY);
	KUNIT_EXPECT_EQ(test, stat.free, MANY);
	KUNIT_EXPECT_EQ(test, isolator_pool_destroy(twice.pool), 0);
}

struct isolator_test_late {
	struct isolator_pool *pool;
	void *object;
	int ret;
	struct completion done;
};

static int isolator_test_late(void *data)
{
	struct isolator_test_late *late = data;

	late->ret = isolator_pool_return(late->pool, late->object);
	complete(&late->done);
	return 0;
}

/* Who still returns keeps the pool: a large object, so that to fill it takes some time. */
static void isolator_test_pool_late(struct kunit *test)
{
	const struct isolator_caller caller = { .cpu = raw_smp_processor_id(), .task = current };
	static struct isolator_test_late late;
	struct task_struct *thread;
	int i, ret;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (i = 0; i < 4; i++) {
		init_completion(&late.done);
		late.pool = isolator_pool_create(&caller, SZ_4M, 1, ISOLATOR_POOL_POISON);
		KUNIT_ASSERT_FALSE(test, IS_ERR(late.pool));
		late.object = isolator_pool_alloc(late.pool);
		thread = kthread_run_on_cpu(isolator_test_late, &late,
					    cpumask_any_but(cpu_online_mask,
							    raw_smp_processor_id()),
					    "isolator_test");
		KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
		do {
			ret = isolator_pool_destroy(late.pool);
			cond_resched();
		} while (ret == -EBUSY);
		KUNIT_EXPECT_EQ(test, ret, 0);
		KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&late.done, 10 * HZ), 0);
		KUNIT_EXPECT_EQ(test, late.ret, 0);
	}
}

static struct kunit_case isolator_pool_cases[] = {
	KUNIT_CASE(isolator_test_pool_refused),
	KUNIT_CASE(isolator_test_pool_all),
	KUNIT_CASE(isolator_test_pool_collect),
	KUNIT_CASE(isolator_test_pool_hostile),
	KUNIT_CASE(isolator_test_pool_poison),
	KUNIT_CASE(isolator_test_pool_foreign),
	KUNIT_CASE(isolator_test_pool_interrupt),
	KUNIT_CASE(isolator_test_pool_twice),
	KUNIT_CASE(isolator_test_pool_late),
	{ }
};

static struct kunit_suite isolator_pool_suite = {
	.name = "isolator_pool",
	.test_cases = isolator_pool_cases,
};

kunit_test_suite(isolator_pool_suite);
