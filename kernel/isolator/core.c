// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the start.  An isolation belongs to the thread that started it.
 *
 * isolator_mutex serialises starts and restorations; it is never taken with the
 * hot-plug lock held.  isolator_lock guards who owns a CPU, so that an end can
 * come from any process context; isolator_keeper_mutex is innermost.
 */
#include <linux/capability.h>
#include <linux/context_tracking_state.h>
#include <linux/cpu.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/isolator.h>
#include <linux/mm.h>
#include <linux/nmi.h>
#include <linux/sched/mm.h>
#include <linux/timekeeping.h>

#include "internal.h"

#include <trace/events/isolator.h>

/* Starts and restorations, one at a time. */
DEFINE_MUTEX(isolator_mutex);

/* Who owns a CPU; innermost but for the books' locks. */
DEFINE_RAW_SPINLOCK(isolator_lock);

/** isolator_owner - who isolated @cpu, only to compare with.  Context: any. */
struct task_struct *isolator_owner(int cpu)
{
	return READ_ONCE(isolator_of(cpu)->owner);
}

/** isolator_is_owner - is @p isolated right now?  Context: any. */
bool isolator_is_owner(const struct task_struct *p)
{
	return isolator_enabled() && READ_ONCE(isolator_of(task_cpu(p))->owner) == p;
}

/**
 * isolator_current - the CPU that the current task has isolated
 *
 * Or -ECANCELED if its isolation was ended by something else than its stop and
 * it has not started again, -ESRCH if it has none.
 */
struct isolator_cpu *isolator_current(void)
{
	struct isolator_cpu *here = isolator_of(raw_smp_processor_id());
	int cpu;

	if (READ_ONCE(here->owner) == current)
		return here;
	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);

		if (READ_ONCE(ic->last) == current->pid &&
		    ic->last_start == current->start_time &&
		    ic->end != ISOLATOR_END_STOP)
			return ERR_PTR(-ECANCELED);
	}
	return ERR_PTR(-ESRCH);
}

/* Runs on the isolated CPU, interrupts off: user mode is tracked from here on. */
static void isolator_local_on(struct isolator_cpu *ic)
{
	struct isolator_hot *hot = this_cpu_ptr(&isolator_hot);

	hot->owed = 0;
	hot->left = true;
	hot->ticks = ic->auto_tick;
	/* One from before the key was on is not heard; at worst one more is sent. */
	atomic_set(&hot->kick, 0);
	vtime_isolator(true);
	ct_isolator(true);
}

/**
 * isolator_set_allowed - the administrator's mask of CPUs that may be isolated
 *
 * CPUs that are isolated and no longer in it are ended.  May sleep.
 */
int isolator_set_allowed(const struct cpumask *mask)
{
	int cpu;

	if (!cpumask_subset(mask, cpu_possible_mask))
		return -EINVAL;
	mutex_lock(&isolator_mutex);
	cpumask_copy(&isolator_allowed, mask);
	mutex_unlock(&isolator_mutex);
	for_each_possible_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, mask))
			isolator_end(isolator_of(cpu), NULL, ISOLATOR_END_ADMIN);
	}
	return 0;
}

static void isolator_answer(struct isolator_cpu *ic, struct isolator_start_args *args)
{
	args->achieved = ic->mask;
	args->got = ic->got;
	args->cpu = ic->cpu;
	args->depth = ic->depth;
	args->deadline_ns = ic->deadline;
	args->spin_ns = ic->spin;
	args->lend_ns = ic->lend;
	args->beat_ns = ic->beat;
}

static void isolator_stop_clocks(struct isolator_cpu *ic)
{
	lockup_detector_isolate(ic->cpu);
	ic->got |= ISOLATOR_GOT_WATCHDOG;
	sched_isolator_fair_server(ic->cpu, false);
}

/* A start inside a start only adds to the mask. */
static int isolator_nest(struct isolator_cpu *ic, struct isolator_start_args *args,
			 const struct isolator_start_args *asked)
{
	if (asked->flags || (asked->beat_ns && asked->beat_ns != ic->beat) ||
	    (asked->deadline_ns && asked->deadline_ns != ic->deadline) ||
	    (asked->spin_ns && asked->spin_ns != ic->spin) ||
	    (asked->lend_ns && asked->lend_ns != ic->lend))
		return -EINVAL;
	if (ic->depth == U32_MAX)
		return -EOVERFLOW;
	ic->depth++;
	if (args->mask & ~ic->mask & ISOLATOR_MASK_CLOCK)
		isolator_stop_clocks(ic);
	WRITE_ONCE(ic->mask, ic->mask | args->mask);
	isolator_left(ic->cpu);
	isolator_answer(ic, args);
	return 0;
}

/*
 * What may fail has not: take the CPU.  Returns 0, -ENOTUNIQ if the task was moved
 * off it meanwhile, -EBUSY if a hot-plug or the like has begun: it is to be given
 * back.  isolator_mutex held.
 */
static int isolator_take_cpu(struct isolator_cpu *ic, struct page *page,
			     struct isolator_senders *senders,
			     const struct isolator_start_args *args)
{
	unsigned long flags;
	int ret = 0;

	raw_spin_lock_irqsave(&ic->lock, flags);
	isolator_reset_stats(ic);
	swap(ic->senders, senders);
	raw_spin_unlock_irqrestore(&ic->lock, flags);
	kvfree(senders);	/* the last session's: whoever uses it has the lock */
	ic->page = page_address(page);
	ic->page->magic = ISOLATOR_PAGE_MAGIC;
	ic->page->version = ISOLATOR_PAGE_VERSION;
	ic->page->cpu = ic->cpu;
	ic->page->state = ISOLATOR_STATE_ON;
	ic->mm = current->mm;
	mmgrab(ic->mm);
	ic->depth = 1;
	ic->deadline = args->deadline_ns;
	ic->spin = args->spin_ns;
	ic->lend = args->lend_ns;
	ic->beat = args->beat_ns;
	ic->beaten = 0;
	ic->auto_tick = args->beat_ns || (args->flags & ISOLATOR_START_AUTO_TICK);
	ic->tick_now = false;
	ic->started = ktime_get_ns();
	ic->timer_next = KTIME_MAX;
	ic->lend_forced = false;
	ic->end = ISOLATOR_END_NONE;
	ic->last = 0;

	/* Who changes the affinity decides under pi_lock: it sees us, or we see it. */
	raw_spin_lock_irqsave(&current->pi_lock, flags);
	raw_spin_lock(&isolator_lock);
	WRITE_ONCE(ic->mask, args->mask);
	WRITE_ONCE(ic->owner, current);
	cpumask_set_cpu(ic->cpu, &isolator_cpumask);
	if (current->nr_cpus_allowed != 1 || smp_processor_id() != ic->cpu)
		ret = -ENOTUNIQ;
	smp_mb(); /* the owner, then the bypass: an end looks the other way round */
	if (isolator_bypass())
		ret = -EBUSY;
	raw_spin_unlock(&isolator_lock);
	raw_spin_unlock_irqrestore(&current->pi_lock, flags);
	return ret;
}

/* Everything that lives on the CPU and is not ours goes elsewhere. */
static void isolator_clear_cpu(struct isolator_cpu *ic, u32 mask)
{
	isolator_elect_keeper(-1);
	ic->got |= ISOLATOR_GOT_TIMEKEEPER;
	/*
	 * Senders that looked at isolator_cpumask before this CPU was in it have
	 * preemption off until they sent, and so has who places tasks: none is
	 * left after this.
	 */
	synchronize_rcu();
	if (!isolator_push_tasks(ic->cpu))
		ic->got |= ISOLATOR_GOT_TASKS;
	if (!isolator_mm_get(ic->mm))
		ic->got |= ISOLATOR_GOT_MM;
	if (isolator_mm_locked(ic->mm))
		ic->got |= ISOLATOR_GOT_LOCKED;
	if (!isolator_move_irqs(ic->cpu))
		ic->got |= ISOLATOR_GOT_IRQS;
	if (mask & ISOLATOR_MASK_CLOCK)
		isolator_stop_clocks(ic);
	isolator_clock_quiesce(ic->cpu);
	isolator_rcu_quiesce();
	if (!rcu_local_callbacks())
		ic->got |= ISOLATOR_GOT_RCU;
	isolator_local_start();
}

/**
 * isolator_begin - ISOLATOR_IOC_START for the current task
 * @args: see struct isolator_start_args
 *
 * Returns 0; -EPERM without CAP_SYS_NICE in the initial user namespace (or
 * CAP_SYS_ADMIN for strict mode); -EINVAL, -ERANGE for what is asked; -ENOTUNIQ
 * when the task may run on more than one CPU; -EACCES for a CPU outside the
 * administrator's mask; -EALREADY when another thread has it; -EBUSY when it is
 * the last housekeeping CPU or the machine is in a transition; -EAGAIN before
 * high-resolution timers work; -ENOMEM.  Context: process, may sleep.
 */
int isolator_begin(struct isolator_start_args *args)
{
	const struct isolator_start_args asked = *args;
	int ret;

	ret = isolator_check_args(args);
	if (ret)
		return ret;
	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	return isolator_begin_admitted(args, &asked);
}

/**
 * isolator_begin_admitted - isolator_begin() for one whose right to it was checked
 * @args: with the defaults filled in; out: what is in force
 * @asked: as the caller gave them
 *
 * Returns and context: as isolator_begin(), without the errors of its arguments.
 */
int isolator_begin_admitted(struct isolator_start_args *args,
			    const struct isolator_start_args *asked)
{
	struct isolator_senders *senders;
	struct isolator_cpu *ic;
	struct page *page;
	int ret;

	if (current->nr_cpus_allowed != 1)
		return -ENOTUNIQ;
	if ((args->flags & ISOLATOR_START_LOCK) && isolator_lock_memory())
		return -EINTR;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	senders = isolator_senders_make();
	if (!page || !senders) {
		ret = -ENOMEM;
		goto free;
	}

	/* Sole affinity, and refused to change once we own the CPU. */
	ic = isolator_of(raw_smp_processor_id());
	flush_work(&ic->end_work);
	mutex_lock(&isolator_mutex);
	if (ic->owner == current) {
		ret = isolator_nest(ic, args, asked);
		goto unused;
	}
	ret = isolator_check_cpu(ic->cpu);
	if (ret)
		goto unused;
	ct_isolator_key(true);
	static_branch_inc(&isolator_key);
	ret = isolator_take_cpu(ic, page, senders, args);
	if (ret) {
		/* Somebody else's end restores it, too. */
		if (isolator_disarm(ic, NULL, ISOLATOR_END_AFFINITY))
			isolator_restore(ic);
		mutex_unlock(&isolator_mutex);
		return ret;
	}
	isolator_clear_cpu(ic, args->mask);
	/* Threads that all this woke here run before the first return. */
	WRITE_ONCE(ic->lend_forced, true);
	local_irq_disable();
	if (isolator_running(ic))
		isolator_local_on(ic);
	local_irq_enable();
	isolator_answer(ic, args);
	trace_isolator_start(ic->cpu, ic->mask, ic->got);
	mutex_unlock(&isolator_mutex);
	/*
	 * A sibling's fork may have write-protected pages after they were locked
	 * above. isolator_mm_get() keeps the next one from it; this gives the
	 * task its pages back, before its first instruction. Killed, it needs none.
	 */
	if (args->flags & ISOLATOR_START_LOCK)
		isolator_lock_memory();
	return 0;

unused:
	mutex_unlock(&isolator_mutex);
free:
	kvfree(senders);
	if (page)
		put_page(page);
	return ret;
}

/**
 * isolator_finish - ISOLATOR_IOC_STOP for the current task
 *
 * Returns 0, -EINVAL, -ESRCH, -ECANCELED.  Context: process, may sleep.
 */
int isolator_finish(struct isolator_stop_args *args)
{
	struct isolator_cpu *ic;
	bool ours;

	if (args->size != sizeof(*args))
		return -EINVAL;
	ic = isolator_current();
	if (IS_ERR(ic))
		return PTR_ERR(ic);
	/* Ended from outside meanwhile, the CPU may be another task's by now. */
	raw_spin_lock_irq(&isolator_lock);
	ours = ic->owner == current;
	if (ours)
		args->depth = --ic->depth;
	raw_spin_unlock_irq(&isolator_lock);
	if (!ours)
		return -ECANCELED;
	if (!args->depth)
		isolator_end(ic, current, ISOLATOR_END_STOP);
	return 0;
}

static int __init isolator_init(void)
{
	int cpu, ret;

	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);

		ic->cpu = cpu;
		raw_spin_lock_init(&ic->lock);
		INIT_WORK(&ic->end_work, isolator_end_work);
		INIT_CSD(&ic->revive, isolator_revive, ic);
	}
	ret = isolator_treat(isolator_revive, ISOLATOR_EXCLUDE);
	if (ret)
		return ret;
	isolator_watch_init();
	ret = isolator_stats_init();
	if (ret)
		return ret;
	ret = isolator_system_init();
	return ret ?: isolator_proc_init();
}
subsys_initcall(isolator_init);
