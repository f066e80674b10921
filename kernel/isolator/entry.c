// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the isolated CPU's side.  Kernel entry catches up and takes what was
 * queued; the return to user mode makes the CPU quiet again.
 */
#include <linux/irq_work.h>
#include <linux/isolator.h>
#include <linux/jiffies.h>
#include <linux/panic.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include <asm/isolator.h>

#include "../time/tick-internal.h"
#include "internal.h"

/*
 * While the machine is stopped nobody comes in: see gate.c.  An NMI on top of an entry that
 * waits here waits itself.  In a panic whoever comes is let in: it may be what the CPU is
 * to be stopped by.
 */
static __always_inline void isolator_wait_gate(struct isolator_hot *hot)
{
	while ((raw_atomic_read_acquire(&hot->work) & ISOLATOR_WORK_GATE) && !hot->pass &&
	       raw_atomic_read(&panic_cpu) == PANIC_CPU_INVALID &&
	       !isolator_fault(ISOLATOR_FAULT_IGNORE_GATE))
		cpu_relax();
}

/*
 * All user translations go, the kernel's with them.  Removals with a number up to the one
 * that is read first have changed their page tables before they took it: no translation
 * of theirs can be in the TLB afterwards.  The number only grows: an NMI may
 * come in between, and do the same with a later one.
 */
static __always_inline void isolator_flush_user(struct isolator_hot *hot)
{
	/* After the bit was taken: pairs with the order in isolator_gather_defer(). */
	long removals = raw_atomic_long_read(&isolator_removals);
	long flushed = raw_atomic_long_read(&hot->flushed);

	arch_isolator_flush_tlb();	/* serialises: the read above, the store below */
	while (flushed - removals < 0) {
		if (raw_atomic_long_try_cmpxchg_release(&hot->flushed, &flushed, removals))
			break;
	}
}

/*
 * Why this may come so late: until here the entry code has run only what cannot
 * be patched and touched only what cannot be unmapped.
 *
 * The bits are cleared before the work is done: a sender that sets one in between
 * may look at the state when this CPU is back in user mode, and then counts on
 * the bit.  What was cleared stays pending until it is done, so that an NMI in between
 * does it first rather than run on stale state.
 *
 * Such an NMI leaves nothing pending.  A sender may then set a bit again before it is cleared
 * here, and look at the state when this CPU is back in user mode: so what was cleared is
 * done here, too, pending or not.
 */
noinstr void __isolator_run_deferred(void)
{
	struct isolator_hot *hot = raw_cpu_ptr(&isolator_hot);
	int work;

	/* What the stopped machine changed is synchronised with below, not before. */
	isolator_wait_gate(hot);
	work = raw_atomic_read(&hot->work) & ISOLATOR_WORK_DEFERRED;
	/* In this order for isolator_owes_flush(), on x86: arm64 defers no flush of user mode. */
	WRITE_ONCE(hot->pending, hot->pending | work);
	raw_atomic_andnot(work, &hot->work);
	/* The bits before the work; pairs with the barrier in isolator_avoid(). */
	smp_mb__after_atomic();
	if (isolator_fault(ISOLATOR_FAULT_SKIP_DEFERRED))
		return;
	work |= READ_ONCE(hot->pending);
	if (work & ISOLATOR_WORK_TEXT)
		arch_isolator_sync_text();
	if (work & (ISOLATOR_WORK_TLB | ISOLATOR_WORK_USER))
		isolator_flush_user(hot);
	WRITE_ONCE(hot->pending, 0);
}

static void isolator_clear_due(struct isolator_cpu *ic, u32 bits)
{
	struct isolator_page *page = ic->page;

	if (page && (READ_ONCE(page->due) & bits))
		atomic_andnot(bits, (atomic_t *)&page->due);
}

/*
 * Make real what was queued: a self-interrupt, taken as soon as the entry code
 * enables interrupts, before the kernel takes a lock or sleeps for this entry.
 *
 * A marked sender that saw user mode may not have stamped its request yet; it
 * has interrupts off, so wait for it rather than leave a stamp behind.
 */
static void isolator_take_queued(struct isolator_hot *hot, struct isolator_cpu *ic)
{
	int work;

	while (atomic_read_acquire(&hot->senders))
		cpu_relax();
	work = atomic_fetch_andnot(ISOLATOR_WORK_QUEUED, &hot->work);
	isolator_note_taken(ic, ISOLATOR_KIND_CALL);
	isolator_note_taken(ic, ISOLATOR_KIND_WAKE);
	isolator_note_taken(ic, ISOLATOR_KIND_RESCHED);
	isolator_note_taken(ic, ISOLATOR_KIND_SIGNAL);
	isolator_clear_due(ic, ISOLATOR_DUE_CALL | ISOLATOR_DUE_SIGNAL);
	/* One under way does it; the return to user mode waits until it has come. */
	if ((work & ISOLATOR_WORK_CALL) && !isolator_fault(ISOLATOR_FAULT_LOSE_WAKEUP) &&
	    !atomic_xchg(&hot->kick, 1))
		arch_send_call_function_single_ipi(smp_processor_id());
	if (work & ISOLATOR_WORK_RESCHED)
		preempt_fold_need_resched();
}

/* Preemption or interrupts off: the page stays while it is looked at. */
bool isolator_is_due(struct isolator_cpu *ic)
{
	struct isolator_page *page = READ_ONCE(ic->page);

	return page && READ_ONCE(page->due);
}

/* After a kernel entry from user mode: interrupts off, RCU watching. */
void __isolator_user_exit(void)
{
	struct isolator_hot *hot = this_cpu_ptr(&isolator_hot);
	struct isolator_cpu *ic;

	/* The deferred work must have run by now: instrumentable code begins here. */
	if (WARN_ON_ONCE(hot->pending))
		hot->pending = 0;
	ic = this_cpu_ptr(&isolator_cpus);
	if (hot->armed && ic->auto_tick && isolator_is_due(ic)) {
		ic->tick_now = true;
		hot->left = true;
	}
	/* Armed or not: whatever a sender took this task for, its request is taken. */
	if (atomic_read(&hot->work) & ISOLATOR_WORK_QUEUED)
		isolator_take_queued(hot, ic);
	isolator_unmute();
}

/**
 * isolator_unmute - the timers left on this CPU fire again
 *
 * Context: on the CPU, interrupts off; may be called with the rq lock held.
 */
void isolator_unmute(void)
{
	struct isolator_hot *hot = this_cpu_ptr(&isolator_hot);

	if (!hot->muted)
		return;
	hot->muted = false;
	hot->left = true;
	hrtimers_isolator_resume();
	/* A device that cannot fire sooner. */
	if (isolator_fault(ISOLATOR_FAULT_FAR_EVENT))
		tick_program_event(ktime_add_ms(ktime_get(), 1), 1);
}

/**
 * isolator_start_tick - the tick that was stopped for user mode runs again
 *
 * Context: on the CPU, interrupts off; may be called with the rq lock held.
 */
void isolator_start_tick(struct isolator_cpu *ic)
{
	if (!ic->tick_off)
		return;
	ic->tick_off = false;
	if (ic->timers_away)
		timers_isolator_join();
	ic->timers_away = false;
	tick_isolator_start();
}

/*
 * Of the CPU that it runs on: who is not the isolated task may go to another one meanwhile,
 * and must not wait there for what was sent to the one before. Nor for what one that is not
 * isolated has a note of: it may have been offline, where nothing arrives.
 */
static bool isolator_latched(void)
{
	return isolator_cpu(raw_smp_processor_id()) &&
	       (atomic_read(raw_cpu_ptr(&isolator_hot.kick)) ||
		(ARCH_ISOLATOR_LATE_SELF && raw_cpu_read(isolator_hot.raised)));
}

/*
 * Take, in the kernel, what was sent to this CPU while it was in the kernel: wait
 * until it has arrived, be it from others or from itself.  Each one was sent, and a
 * CPU with interrupts on gets it.  Interrupts are off before and after.
 */
static void isolator_take_latched(void)
{
	local_irq_enable();
	do {
		arch_isolator_take_irqs();
	} while (isolator_latched());
	local_irq_disable();
}

void __isolator_arrived(void)
{
	/* A full barrier before the handler takes the queue. */
	atomic_xchg(this_cpu_ptr(&isolator_hot.kick), 0);
	preempt_fold_need_resched();
}

/*
 * What an entry does not deal with keeps a tick due: threads of this CPU that
 * wait until they ran, timers until a tick ran them.
 */
static void isolator_note_waiting(struct isolator_cpu *ic)
{
	if (!sched_isolator_waiting(ic->cpu)) {
		isolator_note_taken(ic, ISOLATOR_KIND_THREAD);
		isolator_clear_due(ic, ISOLATOR_DUE_RESCHED);
	} else if (!READ_ONCE(ic->requests[ISOLATOR_KIND_THREAD].since)) {
		isolator_note_queued(ic, ISOLATOR_KIND_THREAD, NULL, _RET_IP_, NULL);
	} else {
		isolator_due(ic, ISOLATOR_DUE_RESCHED);
	}
	if (READ_ONCE(ic->requests[ISOLATOR_KIND_TIMER].since))
		isolator_due(ic, ISOLATOR_DUE_TIMER);
}

/*
 * Yields what a deadline, a batch or the start asked for.  A signal wakes the owner
 * early: the rest is yielded once that has been dealt with, on this same way to user
 * mode, or a thread would wait another deadline for each signal.
 */
static void isolator_yield_required(struct isolator_cpu *ic)
{
	u64 budget = 0, yielded;

	/* Ended meanwhile, what there is may be meant for another owner. */
	local_irq_disable();
	if (isolator_running(ic))
		budget = xchg(&ic->yield_required, 0);
	local_irq_enable();
	if (!budget)
		return;
	yielded = isolator_yield(ic, max(ic->yield_ns, budget));
	local_irq_disable();
	if (yielded < budget && signal_pending(current) && isolator_running(ic) &&
	    sched_isolator_waiting(ic->cpu))
		cmpxchg(&ic->yield_required, 0, budget - yielded);
	local_irq_enable();
}

/*
 * One round of making the CPU quiet, interrupts off.  Returns false when it had
 * to change something: what that set off has then been taken, and the caller
 * looks again from the start.
 */
static bool isolator_make_quiet(struct isolator_cpu *ic)
{
	int timekeeper = isolator_timekeeper();
	u64 left = KTIME_MAX;
	bool changed = false;

	if (ic->tick_now) {
		ic->tick_now = false;	/* one an entry, whatever is left */
		local_irq_enable();
		isolator_auto_tick(ic);
		local_irq_disable();
		return false;
	}
	if (ic->tick_required) {
		ic->tick_required = false;
		local_irq_enable();
		isolator_run_timers(ic);
		local_irq_disable();
		return false;
	}
	if (READ_ONCE(ic->yield_required) || isolator_local_dirty()) {
		local_irq_enable();
		isolator_local_drain();
		isolator_yield_required(ic);
		local_irq_disable();
		return false;
	}
	/* Moved to itself, a timer would never be gone, and this never through. */
	if ((ic->mask & ISOLATOR_MASK_CLOCK) && timekeeper != ic->cpu) {
		changed |= tick_isolator_stop();
		if (!ic->tick_off)
			ic->ran_since = jiffies;
		ic->tick_off = true;
		changed |= timers_isolator_move(timekeeper);
		changed |= hrtimers_isolator_move(timekeeper, &left);
		if (!ic->timers_away)
			ic->timers_away = timers_isolator_leave();
		changed |= !ic->timers_away;
	}
	if (changed)
		return false;
	isolator_note_waiting(ic);
	WRITE_ONCE(ic->timer_next, left);
	if (left != KTIME_MAX) {
		/*
		 * Expired before: its event is armed since the entry, or the round before, and
		 * fires within the least that the device can do.  Given up and armed anew each
		 * round, it would be put off by each of them.
		 */
		if (left <= ktime_get_ns()) {
			isolator_unmute();
			return false;
		}
		left = min_t(u64, left, hrtimers_isolator_mute());
		this_cpu_write(isolator_hot.muted, true);
		/* Expired meanwhile: its interrupt may be latched; take it here. */
		if (left <= ktime_get_ns()) {
			isolator_unmute();
			return false;
		}
	}
	return true;
}

/**
 * isolator_prepare_user - one step on the way of an isolated CPU to user mode
 *
 * Called when isolator_exit_raced() said so, in the kernel again.  What was sent
 * to this CPU is taken, and what was left on it is moved, muted or worked off.
 * The flag is cleared before: what is left from here on sets it again, and the
 * caller comes back, as it does when something had to be changed.
 *
 * Context: interrupts off before and after, on and asleep in between.
 */
void isolator_prepare_user(void)
{
	struct isolator_hot *hot;
	struct isolator_cpu *ic;
	bool quiet;

	isolator_take_latched();
	this_cpu_write(isolator_hot.left, false);
	/* Before the look around; pairs with __isolator_thread_waits(). */
	smp_mb();
	ic = this_cpu_ptr(&isolator_cpus);
	if (!isolator_running(ic))
		return;
	quiet = isolator_make_quiet(ic);
	/* It may have slept, but an owner does not change its CPU. */
	hot = this_cpu_ptr(&isolator_hot);
	if (!isolator_running(ic))
		return;
	if (!quiet) {
		hot->left = true;
		return;
	}
	/* Senders read this line: it is written when it changes. */
	if (hot->armed)
		return;
	hot->armed = true;
}

/*
 * The isolated task comes to its CPU, or leaves it: an ordinary one until it comes
 * back.  rq lock held, interrupts off.
 */
void __isolator_switch(struct task_struct *prev)
{
	struct isolator_cpu *ic = this_cpu_ptr(&isolator_cpus);
	struct task_struct *owner = READ_ONCE(ic->owner);

	/* It comes back: its return to user mode looks around. */
	if (owner == current)
		this_cpu_write(isolator_hot.left, true);
	/*
	 * Nor is the CPU left as it was for a task whose isolation is being ended from elsewhere:
	 * the call may come late, and idle would run without the tick.
	 */
	if (owner ? owner != prev : !ic->tick_off && !this_cpu_read(isolator_hot.armed))
		return;
	this_cpu_write(isolator_hot.armed, false);
	isolator_unmute();
	isolator_start_tick(ic);
}
