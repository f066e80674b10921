// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the senders' side.  Whoever wants to interrupt an isolated CPU comes
 * through here and is held, spared or let through.
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

/* Hot-plug and power transitions under way: everything is delivered at once. */
static atomic_t isolator_bypassed = ATOMIC_INIT(0);

static bool isolator_in_kdb(void)
{
#ifdef CONFIG_KGDB
	return atomic_read(&kgdb_active) != -1;
#else
	return false;
#endif
}

/**
 * isolator_bypass - is this a moment in which nothing may be held?
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
 * The other way round a request could be held for a task that is not isolated.
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
	if (!isolator_cpu(cpu) || isolator_fault(ISOLATOR_FAULT_HOLD_EXCLUDED))
		return false;
	smp_mb(); /* pairs with the atomic on ct->state at kernel entry */
	return isolator_quiet(cpu);
}

/* Tell the application that a tick has something to do.  Any context. */
void isolator_due(struct isolator_cpu *ic, u32 bits)
{
	struct isolator_page *page = READ_ONCE(ic->page);

	if (page && (READ_ONCE(page->due) & bits) != bits)
		atomic_or(bits, (atomic_t *)&page->due);
}

static const u32 isolator_due_bits[ISOLATOR_KINDS] = {
	[ISOLATOR_KIND_CALL]	= ISOLATOR_DUE_CALL,
	[ISOLATOR_KIND_WAKE]	= ISOLATOR_DUE_CALL,
	[ISOLATOR_KIND_RESCHED]	= ISOLATOR_DUE_RESCHED,
	[ISOLATOR_KIND_SIGNAL]	= ISOLATOR_DUE_SIGNAL,
	[ISOLATOR_KIND_THREAD]	= ISOLATOR_DUE_RESCHED,
	[ISOLATOR_KIND_TIMER]	= ISOLATOR_DUE_TIMER,
	[ISOLATOR_KIND_CLOCK]	= ISOLATOR_DUE_CLOCK,
};

/**
 * isolator_stamp - note a pending request: its age, its origin, its number
 * @ic: the isolated CPU
 * @kind: what waits
 * @func: callback, or NULL
 * @caller: address in the sender
 * @p: for ISOLATOR_KIND_THREAD the one that waits, NULL for the last that became
 *	runnable; NULL for all others, whose sender is who calls this
 *
 * Constant work and no allocation, whatever is pending.
 * Context: interrupts off; may hold rq and timer base locks.
 */
void isolator_stamp(struct isolator_cpu *ic, enum isolator_kind kind,
		    void *func, unsigned long caller, struct task_struct *p)
{
	struct isolator_request *req = &ic->requests[kind];
	char comm[TASK_COMM_LEN];
	pid_t pid;

	raw_spin_lock(&ic->lock);
	if (kind != ISOLATOR_KIND_THREAD) {
		pid = isolator_who(comm);
	} else {
		pid = p ? p->pid : ic->waiter;
		memcpy(comm, p ? p->comm : ic->waiter_comm, sizeof(comm));
	}
	if (!req->since) {
		req->since = ktime_get_mono_fast_ns();
		req->func = func;
		req->caller = caller;
		req->cpu = raw_smp_processor_id();
		req->pid = pid;
		memcpy(req->comm, comm, sizeof(req->comm));
		req->count = 0;
	}
	req->count++;
	isolator_count_locked(ic, ISOLATOR_COUNT_HELD, kind, func, comm);
	raw_spin_unlock(&ic->lock);
	isolator_due(ic, isolator_due_bits[kind]);
}

/**
 * isolator_settle - what was pending of @kind is being dealt with now
 *
 * Called before the requests themselves are run, so that one that comes later
 * is stamped anew.  Context: interrupts off, on the isolated CPU or at its end.
 */
void isolator_settle(struct isolator_cpu *ic, enum isolator_kind kind)
{
	struct isolator_request *req = &ic->requests[kind];

	if (!READ_ONCE(req->since))
		return;
	raw_spin_lock(&ic->lock);
	if (req->since) {
		isolator_note_wait(ic, kind, ktime_get_mono_fast_ns() - req->since);
		req->since = 0;
		req->count = 0;
	}
	raw_spin_unlock(&ic->lock);
}

/*
 * A real interrupt, unless one is under way already: what it finds on arrival is
 * whatever is pending then.  The xchg is the full barrier between what was queued
 * and the look at the flag; isolator_arrived() has its own.
 */
static void isolator_send(int cpu)
{
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

/* Hold, which is true, or send.  The caller has marked @cpu. */
static bool isolator_decide(int cpu, enum isolator_kind kind, int work, u32 mask,
			    void *func, unsigned long caller)
{
	struct isolator_hot *hot = per_cpu_ptr(&isolator_hot, cpu);
	struct isolator_cpu *ic = isolator_of(cpu);
	bool user, held;

	if (!isolator_fault(ISOLATOR_FAULT_LOSE_WAKEUP) || !isolator_quiet(cpu))
		atomic_or(work, &hot->work);
	/*
	 * Orders the work bit before the read of the state; pairs with the atomic on
	 * ct->state at kernel entry, which then reads the work.
	 */
	smp_mb();
	/* Looked at once: who comes back to user mode later waits for the unmark. */
	user = (READ_ONCE(ic->mask) & mask) && isolator_in_user(cpu);
	held = user && !isolator_bypass();
	if (held) {
		isolator_stamp(ic, kind, func, caller, NULL);
	} else {
		/* In a transition nothing is held; it is counted all the same. */
		if (user)
			isolator_count_broken(ic, kind, func);
		isolator_send(cpu);
	}
	return held;
}

static void isolator_gate(int cpu, enum isolator_kind kind, int work, u32 mask,
			  void *func, unsigned long caller)
{
	unsigned long flags = isolator_mark(cpu);
	bool held = isolator_decide(cpu, kind, work, mask, func, caller);

	isolator_unmark(cpu, flags);
	if (held)
		trace_isolator_hold(cpu, kind, func, caller);
}

/* How @func is treated while @cpu is in user mode; ISOLATOR_HOLD: it is needed there. */
static enum isolator_treatment isolator_treats(int cpu, void *func)
{
	enum isolator_treatment treatment;

	if (!(READ_ONCE(isolator_of(cpu)->mask) & ISOLATOR_MASK_IPI))
		return ISOLATOR_HOLD;
	treatment = isolator_treatment(func);
	if (treatment == ISOLATOR_EXCLUDE && isolator_fault(ISOLATOR_FAULT_HOLD_EXCLUDED))
		return ISOLATOR_HOLD;
	return treatment;
}

/*
 * Catch up or exclude, as @treatment says, which is another than to hold.
 *
 * True: @cpu is in user mode, the work bit is set where there is one, and the
 * sender is done with it.  The bit was set before the state was read, with a
 * full barrier between, so that either the CPU sees it at kernel entry or the
 * sender sees the kernel and calls normally; a bit too many costs one flush.
 * Why safe: user mode neither executes kernel text nor uses kernel translations,
 * and the entry code does neither with anything that can change before it looks
 * at the bit.  What bounds it: one bit per kind, done at the next kernel entry.
 */
static bool isolator_spare(int cpu, void *func, enum isolator_treatment treatment)
{
	struct isolator_hot *hot = per_cpu_ptr(&isolator_hot, cpu);

	if (treatment == ISOLATOR_CATCH_UP_TEXT)
		atomic_or(ISOLATOR_WORK_TEXT, &hot->work);
	else if (treatment == ISOLATOR_CATCH_UP_TLB)
		atomic_or(ISOLATOR_WORK_TLB, &hot->work);
	smp_mb(); /* pairs with the atomic on ct->state at kernel entry */
	if (!isolator_quiet(cpu))
		return false;
	isolator_count(cpu, treatment == ISOLATOR_EXCLUDE ?
		       ISOLATOR_COUNT_EXCLUDED : ISOLATOR_COUNT_DEFERRED, func);
	return true;
}

/** __isolator_skip_call - catch up or exclude, if the table says so */
bool __isolator_skip_call(int cpu, void *func)
{
	enum isolator_treatment treatment = isolator_treats(cpu, func);

	return treatment != ISOLATOR_HOLD && isolator_spare(cpu, func, treatment);
}

/*
 * Queue a call that user mode has no need of, or spare it.
 *
 * isolator_skip_call() may have looked while @cpu was in the kernel, and were the
 * call queued now that @cpu is in user mode, it would be held.  So it is looked
 * at again, once, under the mark: a CPU that is in the kernel then waits for the
 * unmark on its way to user mode, and takes the interrupt before.
 */
static void isolator_queue_spared(int cpu, call_single_data_t *csd,
				  struct llist_head *queue,
				  enum isolator_treatment treatment)
{
	void *func = csd->func;
	unsigned long flags = isolator_mark(cpu);

	if (isolator_spare(cpu, func, treatment)) {
		/* What csd_unlock() does. */
		smp_store_release(&csd->node.u_flags, 0);
	} else {
		if (isolator_bypass() && isolator_in_user(cpu))
			isolator_count_broken(isolator_of(cpu), ISOLATOR_KIND_CALL, func);
		llist_add(&csd->node.llist, queue);
		isolator_send(cpu);
	}
	isolator_unmark(cpu, flags);
}

/*
 * Queue @node on @cpu.  Whether the queue was empty says nothing about an
 * interrupt being under way, as an earlier entry may be held: each request is
 * put through the gate, which at worst sends one interrupt too many.
 */
bool __isolator_queue(int cpu, struct llist_node *node, struct llist_head *queue)
{
	call_single_data_t *csd = container_of(node, call_single_data_t, node.llist);
	unsigned int type = READ_ONCE(csd->node.u_flags) & CSD_FLAG_TYPE_MASK;
	bool sleeps = type == CSD_TYPE_TTWU;
	enum isolator_kind kind = sleeps ? ISOLATOR_KIND_WAKE : ISOLATOR_KIND_CALL;
	enum isolator_treatment treatment;
	unsigned long flags;
	void *func = NULL;
	bool held;

	/* Read it now: once queued, the node is no longer ours. */
	if (type == CSD_TYPE_IRQ_WORK)
		func = container_of(node, struct irq_work, node.llist)->func;
	else if (!sleeps)
		func = csd->func;
	if (isolator_fault(ISOLATOR_FAULT_DROP_HELD) && isolator_quiet(cpu) &&
	    type == CSD_TYPE_ASYNC) {
		/* The fault: what csd_unlock() does, without the call. */
		smp_store_release(&csd->node.u_flags, 0);
		return true;
	}
	treatment = type == CSD_TYPE_IRQ_WORK || sleeps ? ISOLATOR_HOLD :
		    isolator_treats(cpu, func);
	if (treatment != ISOLATOR_HOLD) {
		isolator_queue_spared(cpu, csd, queue, treatment);
		return true;
	}
	/*
	 * The mark, then the call: until the unmark the CPU does not get back to user
	 * mode, or one that another sender's interrupt has run would be stamped as held.
	 */
	flags = isolator_mark(cpu);
	llist_add(node, queue);
	held = isolator_decide(cpu, kind, ISOLATOR_WORK_CALL, ISOLATOR_MASK_IPI, func, _RET_IP_);
	isolator_unmark(cpu, flags);
	if (held)
		trace_isolator_hold(cpu, kind, func, _RET_IP_);
	return true;
}

static void isolator_call_nothing(void *unused) { }

static bool isolator_holds_call(int cpu, void *unused)
{
	return isolator_cpu(cpu) &&
	       (atomic_read(&per_cpu(isolator_hot, cpu).work) & ISOLATOR_WORK_CALL);
}

/**
 * isolator_finish_calls - calls that are held, and that nobody waits for, are taken
 *
 * One more call, which is waited for, is taken in the same interrupt: when this
 * returns the others have run, or run with interrupts off, as synchronize_rcu()
 * sees.  Waits for a tick, at most D_spin.  Context: process, interrupts on.
 */
void isolator_finish_calls(void)
{
	on_each_cpu_cond(isolator_holds_call, isolator_call_nothing, NULL, true);
}

/* TIF_NEED_RESCHED of @cpu's task was set; its rq lock is usually held. */
void __isolator_resched(int cpu)
{
	isolator_gate(cpu, ISOLATOR_KIND_RESCHED, ISOLATOR_WORK_RESCHED,
		      ISOLATOR_MASK_RESCHED, NULL, _RET_IP_);
}
EXPORT_SYMBOL_GPL(__isolator_resched); /* smp_send_reschedule(), for KVM */

/*
 * Core scheduling: what an SMT sibling runs next must not run beside what @cpu runs, as
 * the two do not trust each other.  TIF_NEED_RESCHED was set; the sibling goes on at
 * once, so that nothing may be held.
 */
void __isolator_core_resched(int cpu)
{
	isolator_break(cpu, __isolator_core_resched);
}

/*
 * A signal, task work or the like for @p, which runs on @cpu.  The flag that
 * makes the return to user mode look is set already.  SIGKILL breaks.
 */
bool __isolator_kick(struct task_struct *p, int cpu)
{
	if (READ_ONCE(isolator_of(cpu)->owner) != p)
		return false;
	if ((__fatal_signal_pending(p) || (p->flags & PF_EXITING)) &&
	    !isolator_fault(ISOLATOR_FAULT_HOLD_BREAK))
		isolator_break(cpu, __isolator_kick);
	else
		isolator_gate(cpu, ISOLATOR_KIND_SIGNAL, ISOLATOR_WORK_RESCHED,
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
	ic->waiter = p->pid;
	memcpy(ic->waiter_comm, p->comm, sizeof(ic->waiter_comm));
	raw_spin_unlock(&ic->lock);
	isolator_left(cpu);
	/* Either this sees the CPU armed, or its way to user mode sees the flag. */
	smp_mb();
	if (!READ_ONCE(ic->lending) && READ_ONCE(per_cpu(isolator_hot, cpu).armed))
		isolator_stamp(ic, ISOLATOR_KIND_THREAD, NULL, _RET_IP_, p);
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
		isolator_breach(ic, ISOLATOR_KIND_CALL, spin, true);
		cpu_relax();
	}
}

/**
 * isolator_hotplug_begin - cpus_write_lock() is held: hold nothing any more
 *
 * What is held already is delivered: hot-plug may wait for it.
 */
void isolator_hotplug_begin(void)
{
	int cpu;

	atomic_inc(&isolator_bypassed);
	smp_mb__after_atomic(); /* before the read of what is held, as in the gate */
	if (!isolator_enabled())
		return;
	for_each_cpu(cpu, &isolator_cpumask) {
		if (atomic_read(&per_cpu(isolator_hot, cpu).work) &
		    ISOLATOR_WORK_HELD)
			isolator_deliver(cpu);
	}
}

/** isolator_hotplug_end - the reverse */
void isolator_hotplug_end(void)
{
	smp_mb__before_atomic(); /* the mask of active CPUs, then this: see isolator_take_cpu() */
	atomic_dec(&isolator_bypassed);
}
