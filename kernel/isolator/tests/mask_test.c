// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: KUnit tests of those who look at the mask of isolated CPUs. */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/isolator.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "../internal.h"

static void isolator_test_where(void *cpu)
{
	*(int *)cpu = smp_processor_id();
}

/* Any CPU of a mask is one that is not isolated, if there is one. */
static void isolator_test_any_cpu(struct kunit *test)
{
	static struct cpumask mask;
	int ran = -1;

	if (num_online_cpus() < 3)
		kunit_skip(test, "needs 3 CPUs");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	cpumask_set_cpu(1, &mask);
	cpumask_set_cpu(2, &mask);
	/* As isolated, but no task of it is in user mode: calls come through. */
	static_branch_inc(&isolator_key);
	cpumask_set_cpu(1, &isolator_cpumask);
	smp_call_function_any(&mask, isolator_test_where, &ran, 1);
	KUNIT_EXPECT_EQ(test, ran, 2);
	cpumask_set_cpu(2, &isolator_cpumask);
	smp_call_function_any(&mask, isolator_test_where, &ran, 1);
	KUNIT_EXPECT_EQ(test, ran, 1);
	cpumask_clear(&isolator_cpumask);
	static_branch_dec(&isolator_key);
}

/* As many starts and ends on CPU 2 as fit in. */
static int isolator_test_starts(void *unused)
{
	while (!kthread_should_stop()) {
		cpumask_set_cpu(2, &isolator_cpumask);
		cpu_relax();
		cpumask_clear_cpu(2, &isolator_cpumask);
		cond_resched();
	}
	return 0;
}

/*
 * Whatever starts meanwhile, an interrupt is left a CPU that it may go to.  Two looks at
 * the mask can differ where it is longer than a word: one of a word is in a register.
 */
static void isolator_test_irq_mask(struct kunit *test)
{
	unsigned long end = jiffies + HZ, left = 0, kept = 0, empty = 0;
	static struct cpumask mask;
	struct task_struct *thread;

	if (num_online_cpus() < 3)
		kunit_skip(test, "needs 3 CPUs");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	thread = kthread_run_on_cpu(isolator_test_starts, NULL, 2, "isolator_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	/* The key is off: nobody else looks at the mask. */
	cpumask_set_cpu(1, &isolator_cpumask);
	while (time_before(jiffies, end) && !empty) {
		cpumask_clear(&mask);
		cpumask_set_cpu(1, &mask);
		cpumask_set_cpu(2, &mask);
		isolator_irq_mask(&mask);
		empty += cpumask_empty(&mask);
		/* CPU 2 was found isolated, as CPU 1, or not. */
		left += cpumask_weight(&mask) == 2;
		kept += cpumask_equal(&mask, cpumask_of(2));
		cond_resched();
	}
	kthread_stop(thread);
	cpumask_clear(&isolator_cpumask);
	isolator_of(1)->irqs_come = false;
	isolator_of(2)->irqs_come = false;
	kunit_info(test, "isolated %lu times, not isolated %lu times\n", left, kept);
	KUNIT_EXPECT_EQ(test, empty, 0);
	KUNIT_EXPECT_GT(test, left, 0);
	KUNIT_EXPECT_GT(test, kept, 0);
}

/* A start that is going to be refused: its CPU, 0, is in the mask while the lock is held. */
static int isolator_test_refused(void *there)
{
	raw_spin_lock_irq(&isolator_lock);
	cpumask_set_cpu(0, &isolator_cpumask);
	smp_store_release((bool *)there, true); /* pairs with the acquire of the test */
	mdelay(5);
	cpumask_clear_cpu(0, &isolator_cpumask);
	raw_spin_unlock_irq(&isolator_lock);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

/* Such a start chooses no timekeeper: the one that it leaves may be about to go offline. */
static void isolator_test_keeper(struct kunit *test)
{
	static bool there;
	struct task_struct *thread;

	if (num_online_cpus() < 3)
		kunit_skip(test, "needs 3 CPUs");
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(1)), 0);
	thread = kthread_run_on_cpu(isolator_test_refused, &there, 2, "isolator_test");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	while (!smp_load_acquire(&there)) /* pairs with the release above */
		cpu_relax();
	isolator_elect_timekeeper();
	kthread_stop(thread);
	KUNIT_EXPECT_EQ(test, isolator_timekeeper(), isolator_housekeeping_any(-1));
	isolator_elect_timekeeper();
}

static struct kunit_case isolator_mask_cases[] = {
	KUNIT_CASE(isolator_test_any_cpu),
	KUNIT_CASE(isolator_test_irq_mask),
	KUNIT_CASE(isolator_test_keeper),
	{}
};

static struct kunit_suite isolator_mask_suite = {
	.name = "isolator_mask",
	.test_cases = isolator_mask_cases,
};

kunit_test_suite(isolator_mask_suite);
