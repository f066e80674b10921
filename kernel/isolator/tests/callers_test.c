// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: KUnit tests of callers in the kernel: who may start, and what is reported. */
#include <kunit/test.h>
#include <linux/context_tracking_state.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/isolator.h>
#include <linux/isolator_caller.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>

#include <asm/isolator.h>

#include "../internal.h"

/*
 * Another CPU, held with its interrupts off where the rest of the kernel sees user mode.  The
 * scheduler sees an idle one: a test that sleeps meanwhile may be woken there, and never runs.
 */
struct isolator_test_stay {
	int cpu;
	bool section;	/* of the kernel, or the isolated task's own user mode */
	bool there, go, over;
	struct isolator_page *page;
};

/* What came before is seen by who has waited. */
static void isolator_test_signal(bool *flag)
{
	smp_store_release(flag, true); /* pairs with isolator_test_wait() */
}

static void isolator_test_wait(bool *flag)
{
	while (!smp_load_acquire(flag)) /* pairs with isolator_test_signal() */
		cpu_relax();
}

static void isolator_test_stay_here(void *info)
{
	struct isolator_hot *hot = this_cpu_ptr(&isolator_hot);
	atomic_t *state = this_cpu_ptr(&context_tracking.state);
	struct isolator_test_stay *stay = info;
	int before = raw_atomic_read(state);

	hot->armed = true;
	hot->section = stay->section;
	smp_mb(); /* as at the begin of a section: what it is, then the state */
	raw_atomic_set(state, (before & ~(CT_STATE_MASK | CT_RCU_WATCHING)) | CT_STATE_USER);
	isolator_test_signal(&stay->there);
	isolator_test_wait(&stay->go);
	raw_atomic_set(state, before);
	smp_mb(); /* the state, then what it was */
	hot->section = false;
	hot->armed = false;
	isolator_test_signal(&stay->over);
}

static struct isolator_cpu *isolator_test_stay_begin(struct kunit *test,
						     struct isolator_test_stay *stay)
{
	struct isolator_cpu *ic;

	stay->cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (stay->cpu >= nr_cpu_ids)
		kunit_skip(test, "needs 2 CPUs");
	stay->page = kunit_kzalloc(test, sizeof(*stay->page), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stay->page);
	ic = isolator_of(stay->cpu);
	KUNIT_ASSERT_NULL(test, ic->owner);
	ic->page = stay->page;
	ic->spin = NSEC_PER_SEC;
	ic->now_since = 0;
	ic->overdue = false;
	ic->stay = 0;
	smp_call_function_single(stay->cpu, isolator_test_stay_here, stay, 0);
	isolator_test_wait(&stay->there);
	return ic;
}

static void isolator_test_stay_end(struct isolator_test_stay *stay)
{
	struct isolator_cpu *ic = isolator_of(stay->cpu);

	isolator_test_signal(&stay->go);
	isolator_test_wait(&stay->over);
	irq_work_sync(&ic->overdue_work);
	ic->page = NULL;
	ic->now_since = 0;
	ic->overdue = false;
	/* What was sent has no handler that clears it while no CPU is isolated. */
	atomic_set(&per_cpu(isolator_hot, stay->cpu).kick, 0);
	isolator_reset_stats(ic);
}

/* Instead of a line in the log: there is none to be expected. */
static unsigned int isolator_test_told;

static void isolator_test_tell(struct irq_work *work)
{
	isolator_test_told++;
}

static void isolator_test_caller_refused(struct kunit *test)
{
	const u64 bounds[] = {
		0, 1, ISOLATOR_DEADLINE_MIN - 1, ISOLATOR_SPIN_DEFAULT + 1, ISOLATOR_DEADLINE_NEVER,
	};
	struct isolator_caller caller;
	int i;

	for (i = 0; i < ARRAY_SIZE(bounds); i++)
		KUNIT_EXPECT_EQ(test, isolator_kernel_start(&caller, bounds[i]), -ERANGE);
	if (num_online_cpus() > 1)
		KUNIT_EXPECT_EQ(test, isolator_kernel_start(&caller, NSEC_PER_MSEC), -ENOTUNIQ);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(0)), 0);
	KUNIT_EXPECT_EQ(test, isolator_kernel_start(&caller, NSEC_PER_MSEC), -EACCES);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(current, cpu_possible_mask), 0);
	/* Nothing is counted that was not started, and nothing is to be undone. */
	KUNIT_EXPECT_FALSE(test, isolator_has_callers());
	isolator_kernel_stop(&caller);
	KUNIT_EXPECT_FALSE(test, isolator_has_callers());
}

/* Who has not started anything, or not this, comes into no section. */
static void isolator_test_caller_strange(struct kunit *test)
{
	struct isolator_caller caller = { };

	KUNIT_EXPECT_EQ(test, isolator_quiet_enter(&caller), -EINVAL);
	KUNIT_EXPECT_FALSE(test, raw_irqs_disabled());
	KUNIT_EXPECT_EQ(test, isolator_kernel_tick(&caller), -ECANCELED);
	caller.task = current;
	KUNIT_EXPECT_EQ(test, isolator_quiet_enter(&caller), -ECANCELED);
	KUNIT_EXPECT_FALSE(test, raw_irqs_disabled());
}

/* A section is one only while the state says so. */
static void isolator_test_section_seen(struct kunit *test)
{
	struct isolator_test_stay user = { }, section = { .section = true };

	isolator_test_stay_begin(test, &user);
	KUNIT_EXPECT_TRUE(test, isolator_in_user(user.cpu));
	KUNIT_EXPECT_FALSE(test, isolator_in_section(user.cpu));
	isolator_test_stay_end(&user);
	isolator_test_stay_begin(test, &section);
	KUNIT_EXPECT_TRUE(test, isolator_in_user(section.cpu));
	KUNIT_EXPECT_TRUE(test, isolator_in_section(section.cpu));
	isolator_test_stay_end(&section);
	per_cpu(isolator_hot, section.cpu).section = true;
	KUNIT_EXPECT_FALSE(test, isolator_in_section(section.cpu));
	per_cpu(isolator_hot, section.cpu).section = false;
}

/* An interrupt to a section is a word that says so; to user mode it is an interrupt only. */
static void isolator_test_section_now(struct kunit *test)
{
	struct isolator_test_stay user = { }, section = { .section = true };
	struct isolator_cpu *ic;
	u64 first;

	ic = isolator_test_stay_begin(test, &user);
	isolator_deliver(user.cpu);
	KUNIT_EXPECT_EQ(test, user.page->due, 0);
	KUNIT_EXPECT_EQ(test, ic->now_since, 0);
	isolator_test_stay_end(&user);

	ic = isolator_test_stay_begin(test, &section);
	isolator_deliver(section.cpu);
	KUNIT_EXPECT_EQ(test, section.page->due, ISOLATOR_DUE_NOW);
	first = ic->now_since;
	KUNIT_EXPECT_NE(test, first, 0);
	/* It is measured from the first who asks. */
	while (ktime_get_mono_fast_ns() == first)
		cpu_relax();
	isolator_due_now(section.cpu);
	KUNIT_EXPECT_EQ(test, ic->now_since, first);
	isolator_test_stay_end(&section);
}

/* The longest stay, and twice the bound of who spins, have passed since the boot. */
static void isolator_test_wait_boot(void)
{
	while (ktime_get_mono_fast_ns() < 2 * NSEC_PER_SEC)
		msleep(20);
}

/* A stay is reported once, by whoever finds it first, and only when the bound has passed. */
static void isolator_test_section_overdue(struct kunit *test)
{
	struct isolator_test_stay stay = { .section = true };
	struct isolator_cpu *ic;
	struct irq_work work;

	isolator_test_wait_boot();
	ic = isolator_test_stay_begin(test, &stay);
	work = ic->overdue_work;
	ic->overdue_work = IRQ_WORK_INIT_HARD(isolator_test_tell);
	isolator_test_told = 0;
	isolator_watch_section(ic);
	KUNIT_EXPECT_FALSE(test, ic->overdue);
	isolator_due_now(stay.cpu);
	isolator_watch_section(ic);
	KUNIT_EXPECT_FALSE(test, ic->overdue);
	ic->now_since -= 2 * ic->spin;
	isolator_watch_section(ic);
	isolator_watch_section(ic);
	KUNIT_EXPECT_TRUE(test, ic->overdue);
	KUNIT_EXPECT_EQ(test, ic->counts[ISOLATOR_COUNT_MISSED], 1);
	isolator_test_stay_end(&stay);
	KUNIT_EXPECT_EQ(test, isolator_test_told, 1);
	ic->overdue_work = work;
}

/*
 * A deadline that has passed long ago: not again of a section that was told of, and not of one
 * that has just begun; of user mode always.
 */
static bool isolator_test_deadline(struct kunit *test, bool section, bool overdue, u64 begin)
{
	struct isolator_test_stay stay = { .section = section };
	struct isolator_cpu *ic = isolator_test_stay_begin(test, &stay);
	struct irq_work work = ic->overdue_work;
	bool delivered;

	ic->overdue_work = IRQ_WORK_INIT_HARD(isolator_test_tell);
	/* As left by who found a section overdue that was just being left. */
	ic->overdue = overdue;
	ic->stay = begin;
	ic->requests[ISOLATOR_KIND_WAKE].since = 1;
	delivered = isolator_check_deadline(ic, ISOLATOR_KIND_WAKE, NSEC_PER_MSEC, false);
	ic->requests[ISOLATOR_KIND_WAKE].since = 0;
	isolator_test_stay_end(&stay);
	ic->overdue_work = work;
	return delivered;
}

static void isolator_test_section_deadline(struct kunit *test)
{
	u64 now = ktime_get_mono_fast_ns();

	KUNIT_EXPECT_FALSE(test, isolator_test_deadline(test, true, true, 0));
	KUNIT_EXPECT_TRUE(test, isolator_test_deadline(test, false, true, 0));
	KUNIT_EXPECT_TRUE(test, isolator_test_deadline(test, true, false, 0));
	KUNIT_EXPECT_FALSE(test, isolator_test_deadline(test, true, false, now + NSEC_PER_SEC));
	KUNIT_EXPECT_TRUE(test, isolator_test_deadline(test, false, false, now + NSEC_PER_SEC));
}

/* What no sender knows of has the section left: at once what the CPU sent to itself... */
static void isolator_test_section_asked(struct kunit *test)
{
	struct isolator_test_stay stay = { .section = true };
	struct isolator_hot *hot;
	struct isolator_cpu *ic;
	bool left;

	isolator_test_wait_boot();
	ic = isolator_test_stay_begin(test, &stay);
	hot = per_cpu_ptr(&isolator_hot, stay.cpu);
	left = hot->left;
	WRITE_ONCE(hot->left, false);
	isolator_watch_section(ic);
	KUNIT_EXPECT_EQ(test, stay.page->due, 0);
	WRITE_ONCE(hot->left, true);
	isolator_watch_section(ic);
	KUNIT_EXPECT_EQ(test, stay.page->due, ISOLATOR_DUE_NOW);
	/* Whoever has told the section knows how urgent that is. */
	stay.page->due = ISOLATOR_DUE_RESCHED;
	isolator_watch_section(ic);
	WRITE_ONCE(hot->left, false);
	KUNIT_EXPECT_EQ(test, stay.page->due, ISOLATOR_DUE_RESCHED);

	/* ...and now and then where a device's interrupt may wait. */
	stay.page->due = 0;
	ic->stay = U64_MAX;
	ic->irqs_come = true;
	isolator_watch_section(ic);
	KUNIT_EXPECT_EQ(test, stay.page->due, 0);
	ic->stay = 0;
	ic->now_since = 0;
	ic->overdue = true;	/* nothing is to be told, however long this takes */
	isolator_watch_section(ic);
	KUNIT_EXPECT_EQ(test, stay.page->due, ISOLATOR_DUE_NOW);
	ic->irqs_come = false;
	WRITE_ONCE(hot->left, left);
	isolator_test_stay_end(&stay);
}

static void isolator_test_nothing(struct irq_work *work) { }

/*
 * Before a section the CPU asks for interrupts that wait.  It must see one however they are
 * masked: by DAIF, or by priority where pseudo-NMIs are in use.
 */
static void isolator_test_irq_pending(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(isolator_test_nothing);
	bool pending = false, blind = true;
	unsigned long flags;
	u64 begin;

	if (!ARCH_ISOLATOR_LATE_SELF)
		kunit_skip(test, "interrupts come at once here, and there is no way to ask");
	begin = ktime_get_mono_fast_ns();
	local_irq_save(flags);
	irq_work_queue(&work);
	while (!pending && ktime_get_mono_fast_ns() - begin < NSEC_PER_SEC)
		pending = arch_isolator_irq_pending();
#ifdef CONFIG_ARM64
	/* The control: what the CPU says by itself, the mask as it was. */
	if (system_uses_irq_prio_masking())
		blind = !__arch_isolator_signalled();
#endif
	KUNIT_EXPECT_TRUE(test, raw_irqs_disabled());
	KUNIT_EXPECT_TRUE(test, irq_work_is_pending(&work));
	local_irq_restore(flags);
	irq_work_sync(&work);
	KUNIT_EXPECT_TRUE(test, pending);
	KUNIT_EXPECT_TRUE(test, blind);
}

static struct kunit_case isolator_callers_cases[] = {
	KUNIT_CASE(isolator_test_caller_refused),
	KUNIT_CASE(isolator_test_caller_strange),
	KUNIT_CASE(isolator_test_section_seen),
	KUNIT_CASE(isolator_test_section_now),
	KUNIT_CASE(isolator_test_section_overdue),
	KUNIT_CASE(isolator_test_section_deadline),
	KUNIT_CASE(isolator_test_section_asked),
	KUNIT_CASE(isolator_test_irq_pending),
	{}
};

static struct kunit_suite isolator_callers_suite = {
	.name = "isolator_callers",
	.test_cases = isolator_callers_cases,
};

kunit_test_suite(isolator_callers_suite);
