// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the tick that the application makes.  What was queued has run already:
 * the system call that led here was the kernel entry.
 */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/isolator.h>
#include <linux/jiffies.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include <asm/isolator.h>

#include "internal.h"

#include <trace/events/isolator.h>

/* How long a yield sleeps before it looks whether threads still wait: by so much it is late. */
#define ISOLATOR_HOP_FIRST	((u64)(50 * NSEC_PER_USEC))
#define ISOLATOR_HOP_LAST	((u64)NSEC_PER_MSEC)

static void isolator_run_tick(struct irq_work *work)
{
	tick_isolator_run();
}

static DEFINE_PER_CPU(struct irq_work, isolator_tick_work) =
	IRQ_WORK_INIT_HARD(isolator_run_tick);

/*
 * An asynchronous end may take the page away at any time, and another's start bring its
 * own: only under the lock, and only the owner's.
 */
static u32 isolator_take_due(struct isolator_cpu *ic)
{
	u32 due = 0;

	raw_spin_lock_irq(&ic->lock);
	if (isolator_running(ic) && ic->page)
		due = atomic_xchg((atomic_t *)&ic->page->due, 0);
	raw_spin_unlock_irq(&ic->lock);
	return due;
}

/*
 * RLIMIT_RTTIME is counted in ticks, of which this CPU had none while its tick was
 * off; one that follows counts itself.
 */
static void isolator_account_rttime(struct isolator_cpu *ic)
{
	unsigned long now = jiffies, ran = now - ic->ran_since;

	if (!ic->tick_off)
		return;
	ic->ran_since = now;
	if (rt_task(current) && ran > 1)
		current->rt.timeout += ran - 1;
}

/* Counts what the current task did; ended meanwhile, the counts may be another's. */
static void isolator_count_own(struct isolator_cpu *ic, u64 *count)
{
	unsigned long flags;

	local_irq_save(flags);
	if (isolator_running(ic))
		isolator_own_inc(ic, count);
	local_irq_restore(flags);
}

/* False, and nothing is set, if @ic is not the current task's any more. */
static bool isolator_set_yielding(struct isolator_cpu *ic, bool yielding)
{
	unsigned long flags;
	bool ours;

	local_irq_save(flags);
	ours = isolator_running(ic);
	if (ours)
		WRITE_ONCE(ic->yielding, yielding);
	local_irq_restore(flags);
	return ours;
}

/**
 * isolator_yield - sleep while threads of this CPU want to run
 * @ic: the isolated CPU; current is its owner
 * @budget: ns at most, then the owner goes on, whoever still waits
 *
 * Under a FIFO task a thread of lower priority runs in no other way.  User tasks
 * are not meant by this: they were moved away at start.  An end makes it short.
 * Returns the ns yielded.  Context: process, may sleep.
 */
u64 isolator_yield(struct isolator_cpu *ic, u64 budget)
{
	u64 start = ktime_get_ns(), yielded = 0, hop = ISOLATOR_HOP_FIRST;
	unsigned long rttime, flags;

	if (isolator_fault(ISOLATOR_FAULT_NO_YIELD))
		return 0;
	local_irq_save(flags);
	if (isolator_running(ic))
		isolator_account_rttime(ic);
	rttime = current->rt.timeout;
	local_irq_restore(flags);
	while (isolator_set_yielding(ic, true) && sched_isolator_waiting(ic->cpu) &&
	       yielded < budget && !signal_pending(current)) {
		ktime_t nap = ns_to_ktime(min(hop, budget - yielded));

		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout_range(&nap, 0, HRTIMER_MODE_REL);
		yielded = ktime_get_ns() - start;
		hop = min(2 * hop, ISOLATOR_HOP_LAST);
	}
	isolator_set_yielding(ic, false);
	if (yielded) {
		/* For RLIMIT_RTTIME this was no sleep of the application's. */
		current->rt.timeout = rttime;
		isolator_count_own(ic, &ic->own.yields);
	}
	return yielded;
}

/**
 * isolator_run_timers - what the periodic tick does beside keeping the time
 * @ic: the CPU that current has isolated, unless that has ended meanwhile
 *
 * The only thing that runs the timers of the wheel that stay on this CPU.
 * Context: process.
 */
void isolator_run_timers(struct isolator_cpu *ic)
{
	unsigned long flags;
	bool ours;

	local_irq_save(flags);
	/* Ended meanwhile, this may be another CPU, and that another's. */
	ours = isolator_running(ic);
	if (ours) {
		isolator_note_taken(ic, ISOLATOR_KIND_TIMER);
		isolator_account_rttime(ic);
		/* As an interrupt, which is what all of it expects. */
		irq_work_queue(per_cpu_ptr(&isolator_tick_work, ic->cpu));
	}
	local_irq_restore(flags);
	if (ours)
		irq_work_sync(per_cpu_ptr(&isolator_tick_work, ic->cpu));
}

/* The parts of a tick that are asked for; returns the ns yielded. */
static u64 isolator_tick_parts(struct isolator_cpu *ic, u32 parts, u64 budget)
{
	u64 yielded = 0;

	if (parts & ISOLATOR_TICK_SCHED)
		isolator_run_timers(ic);
	if (parts & ISOLATOR_TICK_TSC_SYNC) {
		preempt_disable();
		arch_isolator_sync_clock();
		preempt_enable();
	}
	if (parts & ISOLATOR_TICK_YIELD)
		yielded = isolator_yield(ic, budget);
	isolator_count_own(ic, &ic->own.ticks);
	/* What is still there makes the next tick due: found on the way back. */
	isolator_left(ic->cpu);
	return yielded;
}

/**
 * isolator_auto_tick - the tick that a kernel entry is
 * @ic: the isolated CPU; current is its owner
 *
 * Context: process, may sleep, on the way to user mode.
 */
void isolator_auto_tick(struct isolator_cpu *ic)
{
	u32 due = isolator_take_due(ic);
	u64 yielded;

	if (!due)
		return;
	yielded = isolator_tick_parts(ic, ISOLATOR_TICK_ALL, ic->yield_ns);
	isolator_count_own(ic, &ic->own.entries);
	trace_isolator_tick(ic->cpu, due, yielded);
}

/**
 * isolator_do_tick - ISOLATOR_IOC_TICK, and what a write to tick does
 * @args: flags and budget in; what was due, what is left and the time yielded out
 *
 * Returns 0; -EINVAL for unknown flags or size; -ERANGE for a budget over 1 s;
 * -ESRCH when the caller is not isolated, -ECANCELED when it was until something
 * ended it.  Context: process, may sleep; current is the isolated task.
 */
int isolator_do_tick(struct isolator_tick_args *args)
{
	struct isolator_cpu *ic;

	if (args->size != sizeof(*args) || args->flags & ~ISOLATOR_TICK_ALL)
		return -EINVAL;
	if (args->yield_ns > ISOLATOR_YIELD_MAX)
		return -ERANGE;
	ic = isolator_current();
	if (IS_ERR(ic))
		return PTR_ERR(ic);

	/* Cleared first: what comes from here on makes the next tick due. */
	args->due = isolator_take_due(ic);
	args->left = 0;
	args->yielded_ns = isolator_tick_parts(ic, args->flags, args->yield_ns ?: ic->yield_ns);
	if ((args->flags & ISOLATOR_TICK_YIELD) && sched_isolator_waiting(ic->cpu))
		args->left |= ISOLATOR_DUE_RESCHED;
	trace_isolator_tick(ic->cpu, args->due, args->yielded_ns);
	return 0;
}
