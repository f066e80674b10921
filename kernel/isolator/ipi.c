// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the senders' side.  Whoever wants to interrupt an isolated CPU comes
 * through here and is queued, avoided or let through.
 */
#include <linux/context_tracking.h>
#include <linux/irq_work.h>
#include <linux/isolator.h>
#include <linux/kernel.h>
#include <linux/kgdb.h>
#include <linux/llist.h>
#include <linux/panic.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/isolator.h>

DEFINE_PER_CPU_SHARED_ALIGNED(struct isolator_hot, isolator_hot);
DEFINE_PER_CPU(struct isolator_cpu, isolator_cpus);
struct cpumask isolator_cpumask;
EXPORT_SYMBOL_GPL(isolator_cpumask);

/* Power transitions under way: everything is delivered at once. */
atomic_t isolator_bypassed = ATOMIC_INIT(0);

static bool isolator_in_kdb(void)
{
#ifdef CONFIG_KGDB
	return atomic_read(&kgdb_active) != -1;
#else
	return false;
#endif
}

/**
 * isolator_bypass - is this a moment in which nothing may be queued?
 *
 * Context: any.
 */
bool isolator_bypass(void)
{
	return unlikely(oops_in_progress || system_state != SYSTEM_RUNNING ||
			atomic_read(&isolator_bypassed) || isolator_in_kdb() ||
			atomic_read(&panic_cpu) != PANIC_CPU_INVALID);
}

/*
 * In user mode, as the isolated task; an NMI on top of it is the kernel.
 *
 * The state first, then whose it is: the acquire pairs with the atomic on ct->state
 * at the return to user mode.  A CPU that left the isolated task disarms before it
 * takes another one to user mode, so whoever sees that one's state sees it disarmed.
 * The other way round a request could be queued for a task that is not isolated.
 */
bool isolator_in_user(int cpu)
{
	int state = atomic_read_acquire(per_cpu_ptr(&context_tracking.state, cpu));

	return (state & (CT_STATE_MASK | CT_RCU_WATCHING)) == CT_STATE_USER &&
	       READ_ONCE(per_cpu(isolator_hot, cpu).armed);
}

/* Whether a request sent now would interrupt @cpu; only a snapshot. */
bool isolator_quiet(int cpu)
{
	return isolator_in_user(cpu) && !isolator_bypass();
}

/**
 * isolator_user - is @cpu isolated and its task in user mode right now?
 *
 * A full barrier comes first: what the caller wrote before is seen by @cpu
 * after its next kernel entry.  Only a snapshot.  Context: any.
 */
bool isolator_user(int cpu)
{
	if (!isolator_cpu(cpu) || isolator_fault(ISOLATOR_FAULT_QUEUE_EXCLUDED))
		return false;
	smp_mb(); /* pairs with the atomic on ct->state at kernel entry */
	return isolator_quiet(cpu);
}

/*
 * A real interrupt, unless one is under way already: what it finds on arrival is
 * whatever is pending then.  The xchg is the full barrier between what was queued
 * and the look at the flag; isolator_arrived() has its own.  The caller has marked @cpu.
 * Inline: each caller has its send where the lab parks it.
 */
static __always_inline void isolator_send(int cpu)
{
	/* A quiet section takes no interrupt: it is asked to leave. */
	if (READ_ONCE(per_cpu(isolator_hot, cpu).section))
		isolator_due_now(cpu);
	if (!atomic_xchg(&per_cpu(isolator_hot, cpu).kick, 1))
		arch_send_call_function_single_ipi(cpu);
}

/*
 * Mark a sender: an isolated CPU on its way to user mode waits for the unmark, and
 * takes in the kernel what was sent.  Interrupts are off in between, so that it waits
 * briefly.
 */
static unsigned long isolator_mark(int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	atomic_inc(&per_cpu(isolator_hot, cpu).senders);
	/*
	 * The mark before all that follows; pairs with the atomic on ct->state at the
	 * return to user mode, which then reads the marks.
	 */
	smp_mb__after_atomic();
	return flags;
}

static void isolator_unmark(int cpu, unsigned long flags)
{
	/* Releases what was queued, decided and sent to the CPU that waits for this. */
	smp_mb__before_atomic();
	atomic_dec(&per_cpu(isolator_hot, cpu).senders);
	local_irq_restore(flags);
}

/* Interrupt @cpu whatever it does. */
void isolator_deliver(int cpu)
{
	unsigned long flags = isolator_mark(cpu);

	isolator_send(cpu);
	isolator_unmark(cpu, flags);
}

/* Queue, which is true, or send.  The caller has marked @cpu. */
static bool isolator_decide(int cpu, enum isolator_kind kind, int work, u32 mask,
			    void *func, unsigned long caller)
{
	struct isolator_hot *hot = per_cpu_ptr(&isolator_hot, cpu);
	struct isolator_cpu *ic = isolator_of(cpu);
	bool user, queued;

	if (!isolator_fault(ISOLATOR_FAULT_LOSE_WAKEUP) || !isolator_quiet(cpu))
		atomic_or(work, &hot->work);
	/*
	 * Orders the work bit before the read of the state; pairs with the atomic on
	 * ct->state at kernel entry, which then reads the work.
	 */
	smp_mb();
	/* Looked at once: who comes back to user mode later waits for the unmark. */
	user = (READ_ONCE(ic->mask) & mask) && isolator_in_user(cpu);
	queued = user && !isolator_bypass();
	if (queued) {
		isolator_note_queued(ic, kind, func, caller, NULL);
	} else {
		/* In a transition nothing is queued; it is counted all the same. */
		if (user)
			isolator_count_immediate(ic, kind, func);
		isolator_send(cpu);
	}
	return queued;
}

static void isolator_queue_or_send(int cpu, enum isolator_kind kind, int work, u32 mask,
				   void *func, unsigned long caller)
{
	unsigned long flags = isolator_mark(cpu);
	bool queued = isolator_decide(cpu, kind, work, mask, func, caller);

	isolator_unmark(cpu, flags);
	if (queued)
		trace_isolator_queue(cpu, kind, func, caller);
}

/* @rule, if it applies to @cpu; NULL: a call is queued. */
static const struct isolator_rule *isolator_applies(int cpu, const struct isolator_rule *rule)
{
	if (!rule || !(READ_ONCE(isolator_of(cpu)->mask) & ISOLATOR_MASK_IPI))
		return NULL;
	if (rule->policy == ISOLATOR_EXCLUDE && isolator_fault(ISOLATOR_FAULT_QUEUE_EXCLUDED))
		return NULL;
	if (rule->policy == ISOLATOR_DEFER_USER && !READ_ONCE(isolator_of(cpu)->quarantine))
		return NULL;
	return rule;
}

/*
 * Defer or exclude, as @rule says.
 *
 * True: @cpu is in user mode, the work bit is set where there is one, and the
 * sender is done with it.  The bit was set before the state was read, with a
 * full barrier between, so that either the CPU sees it at kernel entry or the
 * sender sees the kernel and calls normally; a bit too many costs one flush.
 * Why safe: user mode neither executes kernel text nor uses kernel translations,
 * and the entry code does neither with anything that can change before it looks
 * at the bit.  What bounds it: one bit per kind, done at the next kernel entry.
 * User translations it does use: for those see quarantine.c.
 */
static bool isolator_avoid(int cpu, const struct isolator_rule *rule)
{
	struct isolator_hot *hot = per_cpu_ptr(&isolator_hot, cpu);

	/*
	 * What the caller changed before the bit; pairs with the barrier in
	 * __isolator_run_deferred().  A CPU that clears the bit together with an earlier
	 * one would otherwise synchronise without the change, and find no bit later.
	 */
	smp_mb__before_atomic();
	if (rule->policy == ISOLATOR_DEFER_TEXT)
		atomic_or(ISOLATOR_WORK_TEXT, &hot->work);
	else if (rule->policy == ISOLATOR_DEFER_TLB)
		atomic_or(ISOLATOR_WORK_TLB, &hot->work);
	else if (rule->policy == ISOLATOR_DEFER_USER)
		atomic_or(ISOLATOR_WORK_USER, &hot->work);
	smp_mb(); /* pairs with the atomic on ct->state at kernel entry */
	if (!isolator_quiet(cpu))
		return false;
	isolator_count_avoided(isolator_of(cpu), rule);
	if (rule->policy == ISOLATOR_DEFER_USER)
		isolator_due(isolator_of(cpu), ISOLATOR_DUE_QUARANTINE);
	return true;
}

static void isolator_trace_avoided(int cpu, const struct isolator_rule *rule)
{
	if (rule->policy == ISOLATOR_EXCLUDE)
		trace_isolator_exclude(cpu, rule->func);
	else
		trace_isolator_defer(cpu, rule->func);
}

/** __isolator_avoid_call - defer or exclude, if @rule applies; preemption is off */
bool __isolator_avoid_call(int cpu, const struct isolator_rule *rule)
{
	if (!isolator_applies(cpu, rule) || !isolator_avoid(cpu, rule))
		return false;
	isolator_trace_avoided(cpu, rule);
	return true;
}

/*
 * Queue a call that user mode has no need of, or avoid it.
 *
 * isolator_avoid_call() may have looked while @cpu was in the kernel, and were the
 * call queued now that @cpu is in user mode, it would be queued.  So it is looked
 * at again, once, under the mark: a CPU that is in the kernel then waits for the
 * unmark on its way to user mode, and takes the interrupt before.
 */
static void isolator_avoid_or_send(int cpu, struct llist_node *node, struct llist_head *queue,
				   const struct isolator_rule *rule)
{
	call_single_data_t *csd = container_of(node, call_single_data_t, node.llist);
	unsigned long flags = isolator_mark(cpu);
	bool avoided = isolator_avoid(cpu, rule);

	if (avoided) {
		/* What csd_unlock() does. */
		smp_store_release(&csd->node.u_flags, 0);
	} else {
		if (isolator_bypass() && isolator_in_user(cpu))
			isolator_count_immediate(isolator_of(cpu), ISOLATOR_KIND_CALL, rule->func);
		llist_add(node, queue);
		isolator_send(cpu);
	}
	isolator_unmark(cpu, flags);
	if (avoided)
		isolator_trace_avoided(cpu, rule);
}

/*
 * Put @node on @queue of @cpu, to wait or with an interrupt.  Whether the queue was empty says
 * nothing about an interrupt being under way, as an earlier entry may be queued: each
 * request is decided on, which at worst sends one interrupt too many.
 */
static void isolator_queue_request(int cpu, struct llist_node *node, struct llist_head *queue,
				   enum isolator_kind kind, void *func, unsigned long caller)
{
	/*
	 * The mark, then the call: until the unmark the CPU does not get back to user
	 * mode, or one that another sender's interrupt has run would be stamped as queued.
	 */
	unsigned long flags = isolator_mark(cpu);
	bool queued;

	llist_add(node, queue);
	queued = isolator_decide(cpu, kind, ISOLATOR_WORK_CALL, ISOLATOR_MASK_IPI, func, caller);
	isolator_unmark(cpu, flags);
	if (queued)
		trace_isolator_queue(cpu, kind, func, caller);
}

/* The call of a CSD, of which @rule is, or NULL.  Always true. */
bool __isolator_queue_call(int cpu, struct llist_node *node, struct llist_head *queue,
			   const struct isolator_rule *rule)
{
	call_single_data_t *csd = container_of(node, call_single_data_t, node.llist);
	/* Read it now: once queued, the node is no longer ours. */
	void *func = csd->func;

	if (isolator_fault(ISOLATOR_FAULT_DROP_QUEUED) && isolator_quiet(cpu) &&
	    (READ_ONCE(csd->node.u_flags) & CSD_FLAG_TYPE_MASK) == CSD_TYPE_ASYNC) {
		/* The fault: what csd_unlock() does, without the call. */
		smp_store_release(&csd->node.u_flags, 0);
		return true;
	}
	rule = isolator_applies(cpu, rule);
	if (rule)
		isolator_avoid_or_send(cpu, node, queue, rule);
	else
		isolator_queue_request(cpu, node, queue, ISOLATOR_KIND_CALL, func, _RET_IP_);
	return true;
}

/* Whatever a call-single queue takes.  Always true. */
bool __isolator_queue(int cpu, struct llist_node *node, struct llist_head *queue)
{
	call_single_data_t *csd = container_of(node, call_single_data_t, node.llist);

	switch (READ_ONCE(csd->node.u_flags) & CSD_FLAG_TYPE_MASK) {
	case CSD_TYPE_TTWU:
		isolator_queue_request(cpu, node, queue, ISOLATOR_KIND_WAKE, NULL, _RET_IP_);
		return true;
	case CSD_TYPE_IRQ_WORK:
		isolator_queue_request(cpu, node, queue, ISOLATOR_KIND_CALL,
				       container_of(node, struct irq_work, node.llist)->func,
				       _RET_IP_);
		return true;
	default:
		return __isolator_queue_call(cpu, node, queue, __isolator_rule(csd->func));
	}
}

static void isolator_empty_call(void *unused) { }

static bool isolator_has_queued_call(int cpu, void *unused)
{
	return isolator_cpu(cpu) &&
	       (atomic_read(&per_cpu(isolator_hot, cpu).work) & ISOLATOR_WORK_CALL);
}

/**
 * isolator_flush_queued_calls - calls that are queued, and that nobody waits for, are taken
 *
 * One more call, which is waited for, is taken in the same interrupt: when this
 * returns the others have run, or run with interrupts off, as synchronize_rcu()
 * sees.  Waits for a tick, at most D_spin.  Context: process, interrupts on.
 */
void isolator_flush_queued_calls(void)
{
	on_each_cpu_cond(isolator_has_queued_call, isolator_empty_call, NULL, true);
}

/* TIF_NEED_RESCHED of @cpu's task was set; its rq lock is usually held. */
void __isolator_resched(int cpu)
{
	isolator_queue_or_send(cpu, ISOLATOR_KIND_RESCHED, ISOLATOR_WORK_RESCHED,
			       ISOLATOR_MASK_RESCHED, NULL, _RET_IP_);
}
EXPORT_SYMBOL_GPL(__isolator_resched); /* smp_send_reschedule(), for KVM */

/*
 * Core scheduling: what an SMT sibling runs next must not run beside what @cpu runs, as
 * the two do not trust each other.  TIF_NEED_RESCHED was set; the sibling goes on at
 * once, so that nothing may be queued.
 */
void __isolator_core_resched(int cpu)
{
	isolator_deliver_now(cpu, __isolator_core_resched);
}

/*
 * A signal, task work or the like for @p, which runs on @cpu.  The flag that
 * makes the return to user mode look is set already.  SIGKILL is immediate.
 */
bool __isolator_signal(struct task_struct *p, int cpu)
{
	if (READ_ONCE(isolator_of(cpu)->owner) != p)
		return false;
	if ((__fatal_signal_pending(p) || (p->flags & PF_EXITING)) &&
	    !isolator_fault(ISOLATOR_FAULT_QUEUE_IMMEDIATE))
		isolator_deliver_now(cpu, __isolator_signal);
	else
		isolator_queue_or_send(cpu, ISOLATOR_KIND_SIGNAL, ISOLATOR_WORK_RESCHED,
				       ISOLATOR_MASK_RESCHED, NULL, _RET_IP_);
	return true;
}

/*
 * A thread of an isolated CPU became runnable.  Under a FIFO task nothing else
 * would tell: no reschedule request is made for what does not preempt.
 */
void __isolator_thread_waits(int cpu, struct task_struct *p)
{
	struct isolator_cpu *ic = isolator_of(cpu);

	if (p == READ_ONCE(ic->owner))
		return;
	raw_spin_lock(&ic->lock);
	/*
	 * The thread on its queue before the flag; pairs with the barrier in
	 * isolator_prepare_user(): a CPU that clears the flag finds the thread.
	 */
	smp_mb__after_spinlock();
	ic->waiter = p->pid;
	memcpy(ic->waiter_comm, p->comm, sizeof(ic->waiter_comm));
	raw_spin_unlock(&ic->lock);
	isolator_left(cpu);
	/* Either this sees the CPU armed, or its way to user mode sees the flag. */
	smp_mb();
	/* The stopper: whoever stops the machine waits for it with interrupts off. */
	if (p->prio <= 0 && READ_ONCE(per_cpu(isolator_hot, cpu).section) &&
	    !isolator_fault(ISOLATOR_FAULT_LATE_STOPPER))
		isolator_due_now(cpu);
	if (!READ_ONCE(ic->yielding) && READ_ONCE(per_cpu(isolator_hot, cpu).armed))
		isolator_note_queued(ic, ISOLATOR_KIND_THREAD, NULL, _RET_IP_, p);
}

/*
 * The sender is its own watchdog: preemption is off, interrupts are on, and the
 * clock is at hand.  Returns when the CSD is free.
 */
void __isolator_wait_csd(int cpu, void *func, unsigned int *flags,
			 unsigned int lock)
{
	struct isolator_cpu *ic = isolator_of(cpu);

	/* Pairs with the release in csd_unlock(). */
	while (smp_load_acquire(flags) & lock) {
		u64 spin = READ_ONCE(ic->spin);

		if (!isolator_cpu(cpu))
			return;
		isolator_check_deadline(ic, ISOLATOR_KIND_CALL, spin, true);
		cpu_relax();
	}
}
