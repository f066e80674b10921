// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the deadlines.  One timer on a housekeeping CPU looks at all isolated
 * CPUs; a sender that spins looks for itself.
 */
#include <linux/context_tracking_state.h>
#include <linux/hrtimer.h>
#include <linux/isolator.h>
#include <linux/posix-timers.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "internal.h"

#include <trace/events/isolator.h>

#define ISOLATOR_PERIOD_MIN	NSEC_PER_MSEC
#define ISOLATOR_PERIOD_MAX	(50 * NSEC_PER_MSEC)

static struct hrtimer isolator_watch_timer;
static u64 isolator_watch_period;
static unsigned long isolator_load_next;	/* jiffies */

/*
 * A thread of the CPU waits: the next interrupt yields the CPU to it, for @budget at
 * most, or for more that was asked for before. An interrupt alone runs no kworker
 * under a FIFO task, nor what runs the timers of a tick on PREEMPT_RT. The CPU's
 * lock is held.
 */
static void isolator_require_yield(struct isolator_cpu *ic, u64 budget)
{
	WRITE_ONCE(ic->yield_required, max(READ_ONCE(ic->yield_required), budget));
	/* Before the flag; pairs with the barrier in isolator_prepare_user(). */
	smp_mb();
	isolator_left(ic->cpu); /* before the interrupt */
}

/* A quiet section is not late for what has waited since before its begin. */
static bool isolator_waits_too_long(struct isolator_cpu *ic, u64 since, u64 bound)
{
	if (isolator_in_section(ic->cpu))
		since = max(since, READ_ONCE(ic->stay));
	return isolator_since(since) >= bound;
}

/**
 * isolator_check_deadline - deliver what has waited longer than its bound
 * @ic: the isolated CPU
 * @kind: what to look at
 * @bound: ns; ISOLATOR_DEADLINE_NEVER: it is never delivered
 * @stack: current is the sender and still waits for it
 *
 * Whoever clears the stamp under the lock is the one that counts and sends.
 * Returns true if it did.  Context: any but NMI, no rq lock.
 */
bool isolator_check_deadline(struct isolator_cpu *ic, enum isolator_kind kind, u64 bound,
			     bool stack)
{
	struct isolator_request *req = &ic->requests[kind];
	u64 since = READ_ONCE(req->since), waited;
	unsigned long flags;
	void *func;

	if (!since || bound == ISOLATOR_DEADLINE_NEVER ||
	    !isolator_waits_too_long(ic, since, bound) || !isolator_in_user(ic->cpu))
		return false;
	/* Told already.  Only of a section: who is late to tell leaves the flag to user mode. */
	if (READ_ONCE(ic->overdue) && isolator_in_section(ic->cpu))
		return false;

	raw_spin_lock_irqsave(&ic->lock, flags);
	since = req->since;
	/* No interrupt reaches a quiet section; it is reported once. */
	if (!since || !isolator_waits_too_long(ic, since, bound) ||
	    (isolator_in_section(ic->cpu) && !isolator_overdue(ic))) {
		raw_spin_unlock_irqrestore(&ic->lock, flags);
		return false;
	}
	func = req->func;
	waited = isolator_since(since);
	isolator_note_wait(ic, kind, waited);
	isolator_count_locked(ic, ISOLATOR_COUNT_MISSED, kind, func, req->comm);
	isolator_record_delivery(ic, kind, req, waited, stack, false);
	req->since = 0;
	if (kind == ISOLATOR_KIND_TIMER) {
		WRITE_ONCE(ic->tick_required, true);
		isolator_require_yield(ic, ISOLATOR_YIELD_REQUIRED);
	}
	/* It may hold what others wait for: it gets what it needs, for as long as it waited. */
	if (kind == ISOLATOR_KIND_THREAD)
		isolator_require_yield(ic, bound);
	raw_spin_unlock_irqrestore(&ic->lock, flags);

	trace_isolator_deadline_miss(ic->cpu, kind, func, waited);
	isolator_deliver(ic->cpu);
	return true;
}

/* Timers of the CPU that nobody else can run make a tick due. */
static void isolator_watch_timers(struct isolator_cpu *ic, u64 now)
{
	u64 next = min(READ_ONCE(ic->timer_next), timers_isolator_next(ic->cpu));

	if (next > now)
		isolator_note_taken(ic, ISOLATOR_KIND_TIMER);
	else if (!READ_ONCE(ic->requests[ISOLATOR_KIND_TIMER].since))
		isolator_note_queued(ic, ISOLATOR_KIND_TIMER, NULL, _RET_IP_, NULL);
}

/*
 * What has ceased to wait, a thread that was moved or a timer that was deleted, is not
 * late.  A thread that becomes runnable meanwhile is taken for it, and stamped anew at the
 * next look, a period later.
 */
static void isolator_watch_threads(struct isolator_cpu *ic)
{
	if (!sched_isolator_waiting(ic->cpu))
		isolator_note_taken(ic, ISOLATOR_KIND_THREAD);
	else if (!READ_ONCE(ic->requests[ISOLATOR_KIND_THREAD].since))
		isolator_note_queued(ic, ISOLATOR_KIND_THREAD, NULL, _RET_IP_, NULL);
}

static bool isolator_cpu_timers(const struct posix_cputimers *timers)
{
	int i;

	for (i = 0; i < CPUCLOCK_MAX; i++) {
		if (READ_ONCE(timers->bases[i].nextevt) != U64_MAX)
			return true;
	}
	return false;
}

/*
 * Limits and CPU timers of the isolated task are looked at by its ticks only, so
 * that having any makes one due.  Interrupts are off, for which an exiting task
 * waits before it is freed; the owner ceases to be one before its signals go.
 */
static void isolator_watch_limits(struct isolator_cpu *ic)
{
	struct task_struct *owner = READ_ONCE(ic->owner);

	if (owner && (isolator_cpu_timers(&owner->posix_cputimers) ||
		      isolator_cpu_timers(&owner->signal->posix_cputimers) ||
		      task_rlimit(owner, RLIMIT_RTTIME) != RLIM_INFINITY))
		isolator_due(ic, ISOLATOR_DUE_CLOCK);
}

/*
 * A batch: what is due by now is delivered together, threads too: those that the
 * yield of an entry is too short for would wait batch after batch, until a deadline miss.
 * What has waited for less than its bound is no deadline miss, and this was asked for: it
 * is counted as planned.
 */
static bool isolator_deliver_batch(struct isolator_cpu *ic, u64 now)
{
	u64 batch = READ_ONCE(ic->batch_ns);
	int kind;

	if (!batch || now - ic->last_batch < batch || !isolator_is_due(ic))
		return false;
	raw_spin_lock(&ic->lock);
	for (kind = 0; kind < ISOLATOR_KINDS; kind++) {
		struct isolator_request *req = &ic->requests[kind];

		if (req->since)
			isolator_count_locked(ic, ISOLATOR_COUNT_PLANNED, kind,
					      req->func, req->comm);
	}
	if (ic->requests[ISOLATOR_KIND_THREAD].since)
		isolator_require_yield(ic, ISOLATOR_YIELD_REQUIRED);
	raw_spin_unlock(&ic->lock);
	isolator_own_inc(ic, &ic->own.planned);
	ic->last_batch = now;
	isolator_deliver(ic->cpu);
	return true;
}

static void isolator_watch_cpu(struct isolator_cpu *ic, u64 now)
{
	u64 deadline = READ_ONCE(ic->deadline);
	int kind;

	isolator_quarantine_poll(ic);
	if (!isolator_in_user(ic->cpu)) {
		/* Long in the kernel without a tick: give it one, RCU may wait. */
		if (READ_ONCE(ic->tick_off))
			smp_call_function_single_async(ic->cpu, &ic->revive);
		return;
	}
	isolator_watch_timers(ic, now);
	isolator_watch_threads(ic);
	isolator_watch_limits(ic);
	isolator_watch_section(ic);
	sched_isolator_charge(ic->cpu);
	if (isolator_deliver_batch(ic, now))
		return;
	/* Who spins is its own watchdog, and has the stack to show: it comes first. */
	for (kind = 0; kind < ISOLATOR_KIND_CLOCK; kind++)
		isolator_check_deadline(ic, kind, kind == ISOLATOR_KIND_CALL ?
					READ_ONCE(ic->spin) + READ_ONCE(isolator_watch_period) :
					deadline, false);
}

static enum hrtimer_restart isolator_watch_tick(struct hrtimer *timer)
{
	bool load = time_after_eq(jiffies, isolator_load_next);
	u64 now = ktime_get_ns();
	int cpu;

	/* Its samples are 5 s apart. */
	if (load)
		isolator_load_next = jiffies + HZ;
	for_each_cpu(cpu, &isolator_cpumask) {
		isolator_watch_cpu(isolator_of(cpu), now);
		if (load)
			sched_isolator_load(cpu);
	}
	hrtimer_forward_now(timer, ns_to_ktime(READ_ONCE(isolator_watch_period)));
	return HRTIMER_RESTART;
}

static void isolator_watch_here(void *unused)
{
	hrtimer_start(&isolator_watch_timer, ns_to_ktime(isolator_watch_period),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * isolator_watch - (re)start or stop the timer for the CPUs isolated now
 *
 * Its period is an eighth of the shortest bound; it runs on the CPU that keeps
 * the time, which is never an isolated one.
 * Context: process, the timekeeper's mutex held, may sleep.
 */
void isolator_watch(void)
{
	u64 bound = ISOLATOR_DEADLINE_NEVER;
	int cpu;

	hrtimer_cancel(&isolator_watch_timer);
	for_each_cpu(cpu, &isolator_cpumask) {
		struct isolator_cpu *ic = isolator_of(cpu);

		bound = min3(bound, ic->deadline, ic->spin);
		if (ic->batch_ns)
			bound = min(bound, ic->batch_ns);
	}
	if (cpumask_empty(&isolator_cpumask))
		return;
	isolator_load_next = jiffies;
	WRITE_ONCE(isolator_watch_period,
		   clamp(bound / 8, ISOLATOR_PERIOD_MIN, ISOLATOR_PERIOD_MAX));
	smp_call_function_single(isolator_timekeeper(), isolator_watch_here,
				 NULL, 1);
}

/** isolator_watch_init - once, at boot */
void isolator_watch_init(void)
{
	hrtimer_init(&isolator_watch_timer, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_PINNED_HARD);
	isolator_watch_timer.function = isolator_watch_tick;
}
