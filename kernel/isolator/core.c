// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: start and end.  An isolation belongs to the thread that started it.
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

static DEFINE_MUTEX(isolator_mutex);
static DEFINE_RAW_SPINLOCK(isolator_lock);

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
	/* One from before the key was on is not heard; at worst one more is sent. */
	atomic_set(&hot->kick, 0);
	vtime_isolator(true);
	ct_isolator(true);
}

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
	atomic_andnot(ISOLATOR_WORK_HELD, &hot->work);
	for (kind = 0; kind < ISOLATOR_KINDS; kind++)
		isolator_settle(ic, kind);
	arch_send_call_function_single_ipi(ic->cpu);
	isolator_unmute();
	isolator_start_tick(ic);
	hot->left = false;
	sched_isolator_fair_server(ic->cpu, true);
	ct_isolator(false);
	vtime_isolator(false);
}

/* The tick comes back in the kernel, when something may wait for it. */
static void isolator_revive(void *info)
{
	isolator_start_tick(info);
}

/*
 * First half of an end: from here on the CPU is interrupted like any other.
 * Returns false if there was nothing to end.  Process context, any lock that may
 * be held around smp_call_function_single().
 */
static bool isolator_disarm(struct isolator_cpu *ic, enum isolator_end why)
{
	struct task_struct *owner;
	unsigned long flags;

	raw_spin_lock_irqsave(&isolator_lock, flags);
	owner = ic->owner;
	if (owner) {
		ic->end = why;
		ic->last = owner->pid;
		ic->last_start = owner->start_time;
		ic->ending = true;
		WRITE_ONCE(ic->owner, NULL);
		/* From here on the gate holds and spares nothing. */
		WRITE_ONCE(ic->mask, 0);
	}
	raw_spin_unlock_irqrestore(&isolator_lock, flags);
	if (!owner)
		return false;

	/*
	 * Through the gate, as the CPU is still in the mask: what is held already
	 * would make a plain call believe that an interrupt is under way.
	 */
	smp_call_function_single(ic->cpu, isolator_local_off, ic, 1);
	cpumask_clear_cpu(ic->cpu, &isolator_cpumask);
	WRITE_ONCE(ic->page->end, why);
	/* Who sees the end sees its reason: pairs with the reader in user space. */
	smp_store_release(&ic->page->state, ISOLATOR_STATE_ENDED);
	trace_isolator_end(ic->cpu, why);
	return true;
}

/* Second half: what has to sleep.  isolator_mutex held. */
static void isolator_restore(struct isolator_cpu *ic)
{
	struct page *page;

	lockdep_assert_held(&isolator_mutex);
	if (!ic->ending)
		return;
	isolator_elect_keeper(-1);
	isolator_clock_restore(ic->cpu);
	isolator_move_irqs(ic->cpu);
	if (ic->got & ISOLATOR_GOT_MM)
		isolator_mm_put(ic->mm);
	mmdrop(ic->mm);
	ic->mm = NULL;
	page = virt_to_page(ic->page);
	raw_spin_lock_irq(&ic->lock);
	WRITE_ONCE(ic->page, NULL);
	raw_spin_unlock_irq(&ic->lock);
	/* Whoever still has the old page in hand has preemption off. */
	synchronize_rcu();
	put_page(page);
	/* Once more: a start may have been under way when it was switched on. */
	sched_isolator_fair_server(ic->cpu, true);
	/* Last: it needs a thread of the CPU, and the fair server is back. */
	if (ic->got & ISOLATOR_GOT_WATCHDOG)
		lockup_detector_restore(ic->cpu);
	ic->got = 0;
	ic->depth = 0;
	ic->ending = false;
	ct_isolator_key(false);
	static_branch_dec(&isolator_key);
}

static void isolator_end_work(struct work_struct *work)
{
	struct isolator_cpu *ic = container_of(work, struct isolator_cpu, end_work);

	mutex_lock(&isolator_mutex);
	isolator_restore(ic);
	mutex_unlock(&isolator_mutex);
}

/** isolator_end - end an isolation and restore everything; may sleep */
void isolator_end(struct isolator_cpu *ic, enum isolator_end why)
{
	if (!isolator_disarm(ic, why))
		return;
	mutex_lock(&isolator_mutex);
	isolator_restore(ic);
	mutex_unlock(&isolator_mutex);
}

/**
 * isolator_end_async - end it now, restore what has to sleep from a work item
 *
 * Context: process; locks that a restoration would take may be held.
 */
void isolator_end_async(int cpu, enum isolator_end why)
{
	struct isolator_cpu *ic = isolator_of(cpu);

	if (isolator_disarm(ic, why))
		queue_work(system_unbound_wq, &ic->end_work);
}

/* The current task exits or executes: its isolation ends with it. */
void __isolator_task_end(enum isolator_end why)
{
	struct isolator_cpu *ic = isolator_current();

	if (!IS_ERR(ic))
		isolator_end(ic, why);
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
			isolator_end(isolator_of(cpu), ISOLATOR_END_ADMIN);
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
	if ((asked->deadline_ns && asked->deadline_ns != ic->deadline) ||
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
	struct isolator_senders *senders;
	struct isolator_cpu *ic;
	struct page *page;
	int ret;

	ret = isolator_check_args(args);
	if (ret)
		return ret;
	if (!capable(CAP_SYS_NICE))
		return -EPERM;
	if (current->nr_cpus_allowed != 1)
		return -ENOTUNIQ;
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
		ret = isolator_nest(ic, args, &asked);
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
		if (isolator_disarm(ic, ISOLATOR_END_AFFINITY))
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

	if (args->size != sizeof(*args))
		return -EINVAL;
	ic = isolator_current();
	if (IS_ERR(ic))
		return PTR_ERR(ic);
	args->depth = --ic->depth;
	if (!args->depth)
		isolator_end(ic, ISOLATOR_END_STOP);
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
	ret = isolator_system_init();
	return ret ?: isolator_proc_init();
}
subsys_initcall(isolator_init);
