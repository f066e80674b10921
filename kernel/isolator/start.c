// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the start.  What may fail comes first; then the CPU is taken, and then
 * what lives on it and is not its owner's goes elsewhere.
 */
#include <linux/capability.h>
#include <linux/context_tracking_state.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/isolator.h>
#include <linux/mm.h>
#include <linux/nmi.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "internal.h"

#include <trace/events/isolator.h>

/* Runs on the isolated CPU, interrupts off: user mode is tracked from here on. */
static void isolator_local_on(struct isolator_cpu *ic)
{
	struct isolator_hot *hot = this_cpu_ptr(&isolator_hot);

	hot->pending = 0;
	hot->left = true;
	hot->ticks = ic->auto_tick;
	if (ic->quarantine) {
		/* What was removed before has left nothing here, and need not wait for us. */
		atomic_or(ISOLATOR_WORK_USER, &hot->work);
		isolator_kernel_enter();
	}
	/* One from before the key was on is not heard; at worst one more is sent. */
	atomic_set(&hot->kick, 0);
	vtime_isolator(true);
	/* Before: from there on user mode may be taken for a quiescent state. */
	if (ARCH_ISOLATOR_SYNC_ENTRY)
		hot->tracked = true;
	ct_isolator(true);
}

static void isolator_fill_result(struct isolator_cpu *ic, struct isolator_start_args *args)
{
	args->achieved = ic->mask;
	args->got = ic->got;
	args->cpu = ic->cpu;
	args->depth = ic->depth;
	args->deadline_ns = ic->deadline;
	args->spin_ns = ic->spin;
	args->yield_ns = ic->yield_ns;
	args->batch_ns = ic->batch_ns;
}

/* The restoration undoes it, should the isolation end meanwhile: the CPU's mutex held. */
static void isolator_stop_clocks(struct isolator_cpu *ic)
{
	if (lockup_detector_isolate(ic->cpu))
		ic->got |= ISOLATOR_GOT_WATCHDOG;
	if (isolator_pin_owner(ic->cpu)) {
		sched_isolator_fair_server(ic->cpu, false);
		migrate_enable();
	}
}

/* A planted fault: what comes amid a start has its time. */
static void isolator_slow_start(void)
{
	if (isolator_fault(ISOLATOR_FAULT_SLOW_START))
		msleep(1000);
}

/* A start inside a start only adds to the mask; -EBUSY if that was ended meanwhile. */
static int isolator_nest(struct isolator_cpu *ic, struct isolator_start_args *args,
			 const struct isolator_start_args *asked)
{
	bool ours;

	if (asked->flags || (asked->batch_ns && asked->batch_ns != ic->batch_ns) ||
	    (asked->deadline_ns && asked->deadline_ns != ic->deadline) ||
	    (asked->spin_ns && asked->spin_ns != ic->spin) ||
	    (asked->yield_ns && asked->yield_ns != ic->yield_ns))
		return -EINVAL;
	if (ic->depth == U32_MAX)
		return -EOVERFLOW;
	isolator_slow_start();
	if (args->mask & ~ic->mask & ISOLATOR_MASK_CLOCK)
		isolator_stop_clocks(ic);
	/* An end clears owner and mask under the lock: what it cleared stays so. */
	raw_spin_lock_irq(&isolator_lock);
	ours = ic->owner == current;
	if (ours) {
		ic->depth++;
		WRITE_ONCE(ic->mask, ic->mask | args->mask);
	}
	raw_spin_unlock_irq(&isolator_lock);
	if (!ours)
		return -EBUSY;
	isolator_left(ic->cpu);
	isolator_fill_result(ic, args);
	return 0;
}

/*
 * May the current task run on @cpu only?  A snapshot, unless its pi_lock is held.  Whoever has
 * given it another CPU may not have moved it there yet.
 */
static bool isolator_stays_on(int cpu)
{
	return current->nr_cpus_allowed == 1 && raw_smp_processor_id() == cpu &&
	       cpumask_test_cpu(cpu, &current->cpus_mask);
}

/*
 * What may fail has not: take the CPU.  Returns 0, -ENOTUNIQ if the task was moved
 * off it meanwhile, -EBUSY if a hot-plug or the like has begun, or has taken the last
 * housekeeping CPU since it was looked for, -EACCES if the CPU may not be isolated any
 * more, -ERANGE if not for as long as this: it is to be given back.  Both mutexes held.
 */
static int isolator_take_cpu(struct isolator_cpu *ic, struct isolator_shared *shared,
			     struct isolator_senders *senders,
			     const struct isolator_start_args *args, bool locks)
{
	unsigned long flags;
	int ret = 0;

	isolator_reset_tally(ic);
	raw_spin_lock_irqsave(&ic->lock, flags);
	isolator_reset_stats(ic);
	swap(ic->senders, senders);
	raw_spin_unlock_irqrestore(&ic->lock, flags);
	kvfree(senders);	/* the last session's: whoever uses it has the lock */
	ic->shared = shared;
	ic->page = page_address(shared->page);
	ic->page->magic = ISOLATOR_PAGE_MAGIC;
	ic->page->version = ISOLATOR_PAGE_VERSION;
	ic->page->cpu = ic->cpu;
	ic->page->state = ISOLATOR_STATE_ON;
	ic->mm = current->mm;	/* a kernel thread has none */
	if (ic->mm) {
		mmgrab(ic->mm);
		isolator_mm_get(ic->mm, locks);
	}
	if (args->flags & ISOLATOR_START_QUARANTINE)
		isolator_quarantine_get(ic);
	ic->depth = 1;
	ic->deadline = args->deadline_ns;
	ic->spin = args->spin_ns;
	ic->yield_ns = args->yield_ns;
	ic->batch_ns = args->batch_ns;
	ic->last_batch = 0;
	ic->auto_tick = args->batch_ns || (args->flags & ISOLATOR_START_AUTO_TICK);
	ic->tick_now = false;
	ic->started = ktime_get_ns();
	ic->timer_next = KTIME_MAX;
	ic->tick_required = false;
	ic->yield_required = 0;
	ic->yielding = false;
	ic->end = ISOLATOR_END_NONE;
	ic->last = 0;

	/* One of before the keys were on is not heard: nobody may count on it. */
	atomic_set(&per_cpu(isolator_hot, ic->cpu).kick, 0);
	/* Nor one that was lost as the CPU went offline: none would be sent any more. */
	per_cpu(isolator_hot, ic->cpu).raised = false;
	/* Who changes the affinity decides under pi_lock: it sees us, or we see it. */
	raw_spin_lock_irqsave(&current->pi_lock, flags);
	raw_spin_lock(&isolator_lock);
	WRITE_ONCE(ic->mask, args->mask);
	WRITE_ONCE(ic->owner, current);
	cpumask_set_cpu(ic->cpu, &isolator_cpumask);
	if (!isolator_stays_on(ic->cpu))
		ret = -ENOTUNIQ;
	/*
	 * The owner, then the transition: an end looks the other way round.  A hot-plug that
	 * is through by now has left the mask of active CPUs as it is; one that
	 * comes finds this CPU isolated, and ends that if it takes the last other.
	 */
	smp_mb();
	if (isolator_in_transition())
		ret = -EBUSY;
	smp_rmb(); /* pairs with isolator_hotplug_end() */
	if (!cpumask_test_cpu(ic->cpu, &isolator_allowed))
		ret = -EACCES;
	if (isolator_timekeeper_beside(ic->cpu) < 0)
		ret = -EBUSY;
	/* Who lowers a limit, and then sees nobody beyond it, has nobody beyond it. */
	if (!isolator_in_limits(args))
		ret = -ERANGE;
	/*
	 * At once: who goes round the CPUs outside of the mask finds one, and a hot-plug does
	 * not take this one for isolated, and the CPU that goes for the last other.
	 */
	if (ret)
		cpumask_clear_cpu(ic->cpu, &isolator_cpumask);
	raw_spin_unlock(&isolator_lock);
	raw_spin_unlock_irqrestore(&current->pi_lock, flags);
	return ret;
}

/*
 * Everything that lives on the CPU and is not ours goes elsewhere.
 *
 * Each sleep may see the end of the isolation, and after it the task may be on another
 * CPU.  What acts on this CPU looks for that by itself, with isolator_pin_owner(); the rest
 * is undone by the restoration, which waits for the CPU's mutex.
 */
static void isolator_clear_cpu(struct isolator_cpu *ic, u32 mask)
{
	isolator_elect_timekeeper();
	ic->got |= ISOLATOR_GOT_TIMEKEEPER;
	/*
	 * Senders that looked at isolator_cpumask before this CPU was in it have
	 * preemption off until they sent, and so has who places tasks: none is
	 * left after this.
	 */
	synchronize_rcu();
	isolator_slow_start();
	if (!isolator_push_tasks(ic->cpu))
		ic->got |= ISOLATOR_GOT_TASKS;
	if (ic->mm && isolator_mm(ic->mm))
		ic->got |= ISOLATOR_GOT_MM;
	/* Whoever aims one here meanwhile says so again, or is seen. */
	WRITE_ONCE(ic->irqs_come, false);
	if (!isolator_move_irqs(ic->cpu))
		ic->got |= ISOLATOR_GOT_IRQS;
	else
		WRITE_ONCE(ic->irqs_come, true);
	if (mask & ISOLATOR_MASK_CLOCK)
		isolator_stop_clocks(ic);
	if (!isolator_running(ic))
		return;
	isolator_clock_quiesce(ic->cpu);
	rcu_isolator_threads(ic->cpu);
	isolator_rcu_quiesce();
	if (!rcu_local_callbacks())
		ic->got |= ISOLATOR_GOT_RCU;
	isolator_local_start(ic->cpu);
}

/**
 * isolator_begin - ISOLATOR_IOC_START for the current task
 * @args: see struct isolator_start_args
 *
 * Returns 0; -EPERM without CAP_SYS_NICE in the initial user namespace (or
 * CAP_SYS_ADMIN for strict mode); -EINVAL, -ERANGE for what is asked; -ENOTUNIQ
 * when the task may run on more than one CPU; -EACCES for a CPU outside the
 * administrator's mask; -EALREADY when another thread has it; -EBUSY when it is
 * the last housekeeping CPU, the machine is in a transition, or the isolation that
 * this one nests in was ended meanwhile; -EAGAIN before
 * high-resolution timers work; -EINTR when killed; -ENOMEM.  Context: process, may sleep.
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
	return isolator_begin_admitted(args, &asked, isolator_may_lock());
}

static void isolator_unprepare(struct isolator_shared *shared,
			       struct isolator_senders *senders)
{
	if (shared && shared->page)
		put_page(shared->page);
	kfree(shared);
	kvfree(senders);
}

/*
 * The CPU's counters of what is avoided for it, made once and kept: a sender may have them in
 * hand at any time.  -ENOMEM.  The CPU's mutex held.
 */
static int isolator_make_tally(struct isolator_cpu *ic)
{
	struct isolator_tally __percpu *tally = ic->tally;

	if (!tally) {
		tally = alloc_percpu(struct isolator_tally);
		/* The zeroes first: pairs with isolator_tally_sum(), which takes no lock. */
		smp_store_release(&ic->tally, tally);
	}
	return tally ? 0 : -ENOMEM;
}

/* What a start brings along, in case it can be done; -ENOMEM. */
static int isolator_prepare(struct isolator_shared **shared,
			    struct isolator_senders **senders)
{
	*senders = isolator_senders_make();
	/* Accounted: a mapping keeps the page beyond the end, and there may be any number. */
	*shared = kmalloc(sizeof(**shared), GFP_KERNEL_ACCOUNT);
	if (*shared)
		(*shared)->page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (*senders && *shared && (*shared)->page)
		return 0;
	isolator_unprepare(*shared, *senders);
	return -ENOMEM;
}

/*
 * How earlier isolations of the current task ended, on other CPUs, is of no interest any more.
 * That of @new one may have been ended by now.
 */
static void isolator_forget_ends(const struct isolator_cpu *new)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);

		if (ic == new || READ_ONCE(ic->last) != current->pid)
			continue;
		/* Another task's may end there right now. */
		raw_spin_lock_irq(&isolator_lock);
		if (ic->last == current->pid)
			WRITE_ONCE(ic->last, 0);
		raw_spin_unlock_irq(&isolator_lock);
	}
}

/* Takes the CPU, and makes it quiet; both mutexes held.  Consumes @shared, @senders. */
static int isolator_begin_locked(struct isolator_cpu *ic, struct isolator_shared *shared,
				 struct isolator_senders *senders,
				 struct isolator_start_args *args, bool locks, bool locked)
{
	int ret;

	isolator_keys_get();
	isolator_slow_start();
	ret = isolator_take_cpu(ic, shared, senders, args, locks);
	if (ret) {
		/* Somebody else's end restores it, too. */
		if (isolator_disarm(ic, NULL, ISOLATOR_END_AFFINITY))
			isolator_restore(ic);
		/* It was none. */
		ic->end = ISOLATOR_END_NONE;
		ic->last = 0;
		return ret;
	}
	isolator_forget_ends(ic);
	if (locked)
		ic->got |= ISOLATOR_GOT_LOCKED;
	isolator_clear_cpu(ic, args->mask);
	/* Threads that all this woke here run before the first return. */
	WRITE_ONCE(ic->yield_required, ISOLATOR_YIELD_REQUIRED);
	local_irq_disable();
	if (isolator_running(ic))
		isolator_local_on(ic);
	local_irq_enable();
	isolator_fill_result(ic, args);
	trace_isolator_start(ic->cpu, ic->mask, ic->got);
	return 0;
}

/* The times that were asked for, and for others the defaults of now; 0 or -ERANGE. */
static int isolator_settle_times(struct isolator_start_args *args,
				 const struct isolator_start_args *asked)
{
	args->deadline_ns = asked->deadline_ns;
	args->spin_ns = asked->spin_ns;
	args->yield_ns = asked->yield_ns;
	args->batch_ns = asked->batch_ns;
	return isolator_fill_times(args);
}

/* isolator_begin_admitted(), but for what concerns the memory. */
static int isolator_begin_here(struct isolator_start_args *args,
			       const struct isolator_start_args *asked, bool locks)
{
	struct isolator_senders *senders;
	struct isolator_shared *shared;
	struct isolator_cpu *ic;
	bool locked;
	int ret;

	if (args->flags & ISOLATOR_START_QUARANTINE) {
		ret = isolator_quarantine_make(current->mm);
		if (ret)
			return ret;
	}
	ret = isolator_prepare(&shared, &senders);
	if (ret)
		return ret;
	/* Before the mutex: who holds the mmap lock may be made to wait by anybody. */
	locked = current->mm && isolator_mm_locked(current->mm);
	/* Sole affinity, and refused to change once we own the CPU. */
	ic = isolator_of(raw_smp_processor_id());
	isolator_wait_restored(ic);
	/* Another start waits for grace periods, and one of this CPU's as well. */
	ret = -EINTR;
	if (mutex_lock_killable(&isolator_mutex))
		goto unprepare;
	if (mutex_lock_killable(&ic->mutex))
		goto unlock;
	if (ic->owner == current) {
		ret = isolator_nest(ic, args, asked);
	} else {
		/* Again: it took the mutexes, and from here on the last session's books go. */
		if (!isolator_stays_on(ic->cpu))
			ret = -ENOTUNIQ;
		else
			ret = isolator_check_cpu(ic->cpu) ?: isolator_make_tally(ic);
		/* Limits may have changed since: it waited, or was armed. */
		ret = ret ?: isolator_settle_times(args, asked);
		if (!ret) {
			ret = isolator_begin_locked(ic, shared, senders, args, locks, locked);
			shared = NULL;
			senders = NULL;
		}
	}
	mutex_unlock(&ic->mutex);
unlock:
	mutex_unlock(&isolator_mutex);
unprepare:
	isolator_unprepare(shared, senders);
	return ret;
}

/*
 * ISOLATOR_START_LOCK, before the start: what is to be read takes its time, and is none of
 * the isolation's.  A start that is going to be refused anyway locks nothing; one that
 * fails later leaves locked what is.  Returns 0 or an error.
 */
static int isolator_lock_first(void)
{
	struct isolator_cpu *ic = isolator_of(raw_smp_processor_id());
	int ret;

	isolator_wait_restored(ic);
	if (mutex_lock_killable(&ic->mutex))
		return -EINTR;
	/* Within an isolation there is nothing to ask for. */
	ret = ic->owner == current ? -EINVAL : isolator_check_cpu(ic->cpu);
	mutex_unlock(&ic->mutex);
	return ret ?: isolator_lock_memory();
}

/* ISOLATOR_START_LOCK, of a task that is isolated by now; 0 or as isolator_lock_memory(). */
static int isolator_begin_lock(struct isolator_start_args *args)
{
	struct isolator_cpu *ic = isolator_of(args->cpu);
	int ret = isolator_lock_memory();

	/* Nothing stays of a start that could not do what was asked. */
	if (ret) {
		isolator_end(ic, current, ISOLATOR_END_STOP);
		return ret;
	}
	args->got |= ISOLATOR_GOT_LOCKED;
	mutex_lock(&ic->mutex);
	if (isolator_running(ic))
		ic->got |= ISOLATOR_GOT_LOCKED;
	mutex_unlock(&ic->mutex);
	return 0;
}

/**
 * isolator_begin_admitted - isolator_begin() for one whose right to it was checked
 * @args: with the defaults filled in; out: what is in force
 * @asked: as the caller gave them
 * @locks: who asked may lock memory without limit
 *
 * Returns and context: as isolator_begin(), without the errors of its arguments but -ERANGE for
 * limits that were lowered since, and
 * -EDQUOT when more memory is to be locked than the task itself may lock.
 */
int isolator_begin_admitted(struct isolator_start_args *args,
			    const struct isolator_start_args *asked, bool locks)
{
	int ret = 0;

	if (current->nr_cpus_allowed != 1)
		return -ENOTUNIQ;
	if (args->flags & ISOLATOR_START_LOCK)
		ret = isolator_lock_first();
	if (!ret)
		ret = isolator_begin_here(args, asked, locks);
	if (ret)
		return ret;
	/*
	 * Before its first instruction; killed, it has none, and needs neither.
	 * isolator_mm_settle() keeps the next fork of a sibling from write-protecting
	 * pages; the lock gives the task back what an earlier one has protected.
	 */
	if (current->mm)
		isolator_mm_settle(current->mm);
	return args->flags & ISOLATOR_START_LOCK ? isolator_begin_lock(args) : 0;
}
