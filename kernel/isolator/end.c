// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the end, in two halves: one that any process context may do at once, and
 * one that sleeps.
 */
#include <linux/context_tracking_state.h>
#include <linux/isolator.h>
#include <linux/mm.h>
#include <linux/nmi.h>
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>

#include "internal.h"

#include <trace/events/isolator.h>

/*
 * Runs on the isolated CPU, interrupts off, after its owner is gone from the
 * books: senders interrupt it again, and what it owes is done now.
 */
static void isolator_local_off(void *info)
{
	struct isolator_cpu *ic = info;
	struct isolator_hot *hot = this_cpu_ptr(&isolator_hot);
	int kind;

	hot->armed = false;
	while (atomic_read_acquire(&hot->senders))
		cpu_relax();
	atomic_andnot(ISOLATOR_WORK_QUEUED, &hot->work);
	for (kind = 0; kind < ISOLATOR_KINDS; kind++)
		isolator_note_taken(ic, kind);
	arch_send_call_function_single_ipi(ic->cpu);
	isolator_unmute();
	isolator_start_tick(ic);
	hot->left = false;
	hot->ticks = false;
	sched_isolator_fair_server(ic->cpu, true);
	ct_isolator(false);
	if (ARCH_ISOLATOR_SYNC_ENTRY)
		hot->tracked = false;
	vtime_isolator(false);
}

/** isolator_restart_tick - the tick comes back in the kernel, when something may wait for it */
void isolator_restart_tick(void *info)
{
	isolator_start_tick(info);
}

/**
 * isolator_disarm - first half of an end
 * @ic: the CPU
 * @whose: end it only if this is the owner; NULL for anybody
 * @why: the reason to show
 *
 * From here on the CPU is interrupted like any other.  Returns false if there was
 * nothing to end.  Context: process, any lock that may be held around
 * smp_call_function_single().
 */
bool isolator_disarm(struct isolator_cpu *ic, const struct task_struct *whose,
		     enum isolator_end why)
{
	struct task_struct *owner;
	unsigned long flags;

	/* Until it is out of the mask, too: who finds it there looks for an owner. */
	preempt_disable();
	raw_spin_lock_irqsave(&isolator_lock, flags);
	owner = ic->owner;
	if (whose && owner != whose)
		owner = NULL;
	if (owner) {
		ic->end = why;
		WRITE_ONCE(ic->last, owner->pid);
		ic->last_start = owner->start_time;
		ic->ending = true;
		smp_store_release(&ic->owner, NULL); /* pairs with isolator_current() */
		/* From here on senders queue and avoid nothing. */
		WRITE_ONCE(ic->mask, 0);
	}
	raw_spin_unlock_irqrestore(&isolator_lock, flags);
	if (!owner) {
		preempt_enable();
		return false;
	}

	/*
	 * As a sender, as the CPU is still in the mask: what is queued already
	 * would make a plain call believe that an interrupt is under way.
	 */
	smp_call_function_single(ic->cpu, isolator_local_off, ic, 1);
	cpumask_clear_cpu(ic->cpu, &isolator_cpumask);
	preempt_enable();
	WRITE_ONCE(ic->page->end, why);
	/* Who sees the end sees its reason: pairs with the reader in user space. */
	smp_store_release(&ic->page->state, ISOLATOR_STATE_ENDED);
	trace_isolator_end(ic->cpu, why);
	return true;
}

/* Whoever still had it in hand has enabled preemption since. */
static void isolator_shared_free(struct rcu_head *rcu)
{
	struct isolator_shared *shared = container_of(rcu, struct isolator_shared, rcu);

	put_page(shared->page);
	kfree(shared);
}

/**
 * isolator_restore - second half of an end: what has to sleep
 * @ic: the CPU
 *
 * Nothing here waits for a thread of the CPU, for a grace period or for hot-plug: the
 * task whose isolation was ended may spin there for ever, and keep all three from
 * getting on.
 *
 * Context: process, the CPU's mutex held.
 */
void isolator_restore(struct isolator_cpu *ic)
{
	struct isolator_shared *shared = ic->shared;

	lockdep_assert_held(&ic->mutex);
	if (!ic->ending)
		return;
	isolator_elect_timekeeper();
	isolator_clock_restore(ic->cpu);
	isolator_move_irqs(ic->cpu);
	rcu_isolator_threads(ic->cpu);
	isolator_quarantine_put(ic);
	if (ic->mm) {
		isolator_mm_put(ic->mm);
		mmdrop(ic->mm);
	}
	ic->mm = NULL;
	raw_spin_lock_irq(&ic->lock);
	WRITE_ONCE(ic->page, NULL);
	raw_spin_unlock_irq(&ic->lock);
	ic->shared = NULL;
	call_rcu(&shared->rcu, isolator_shared_free);
	/* Once more: a start may have been under way when it was switched on. */
	sched_isolator_fair_server(ic->cpu, true);
	if (ic->got & ISOLATOR_GOT_WATCHDOG)
		lockup_detector_restore(ic->cpu);
	ic->got = 0;
	WRITE_ONCE(ic->ending, false);
	smp_mb(); /* before the look for who waits: see wake_up_var() */
	wake_up_var(&ic->ending);
	if (IS_ENABLED(CONFIG_MEMBARRIER))
		membarrier_isolator_end(ic->cpu);
	isolator_keys_put();
}

/**
 * isolator_wait_restored - waits until an end that has begun is through
 * @ic: the CPU
 *
 * Whoever does it: the end's own task, or the work item.  Context: process, may sleep,
 * no lock that a restoration takes.
 */
void isolator_wait_restored(struct isolator_cpu *ic)
{
	wait_var_event(&ic->ending, !READ_ONCE(ic->ending));
}

/** isolator_end_work - the second half of isolator_end_async() */
void isolator_end_work(struct work_struct *work)
{
	struct isolator_cpu *ic = container_of(work, struct isolator_cpu, end_work);

	mutex_lock(&ic->mutex);
	isolator_restore(ic);
	mutex_unlock(&ic->mutex);
}

/**
 * isolator_end - end an isolation and restore everything
 *
 * Arguments and return as isolator_disarm().  Context: process, may sleep.
 */
bool isolator_end(struct isolator_cpu *ic, const struct task_struct *whose,
		  enum isolator_end why)
{
	if (!isolator_disarm(ic, whose, why))
		return false;
	isolator_end_work(&ic->end_work);
	return true;
}

/** isolator_end_task - end @task's isolation, if it has one; returns if so; may sleep */
bool isolator_end_task(const struct task_struct *task, enum isolator_end why)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (isolator_end(isolator_of(cpu), task, why))
			return true;
	}
	return false;
}

/**
 * isolator_end_async - end it now, restore what has to sleep from a work item
 *
 * Arguments as isolator_disarm().
 * Context: process; locks that a restoration would take may be held.
 */
void isolator_end_async(int cpu, const struct task_struct *whose, enum isolator_end why)
{
	struct isolator_cpu *ic = isolator_of(cpu);

	if (isolator_disarm(ic, whose, why))
		queue_work(system_unbound_wq, &ic->end_work);
}

/* The current task exits or executes: its isolation ends with it. */
void __isolator_task_end(enum isolator_end why)
{
	struct isolator_cpu *ic = isolator_of_current();

	if (ic)
		isolator_end(ic, current, why);
}
