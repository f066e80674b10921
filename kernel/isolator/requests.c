// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: what is pending for an isolated CPU, the oldest of each kind, and the bits
 * that tell its task so.
 */
#include <linux/isolator.h>
#include <linux/kernel.h>
#include <linux/timekeeping.h>

#include "internal.h"

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
 * isolator_note_queued - note a pending request: its age, its origin, its number
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
void isolator_note_queued(struct isolator_cpu *ic, enum isolator_kind kind,
			  void *func, unsigned long caller, struct task_struct *p)
{
	struct isolator_request *req = &ic->requests[kind];
	char comm[TASK_COMM_LEN];
	pid_t pid;

	raw_spin_lock(&ic->lock);
	if (kind != ISOLATOR_KIND_THREAD) {
		pid = isolator_sender_name(comm);
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
	isolator_count_locked(ic, ISOLATOR_COUNT_QUEUED, kind, func, comm);
	raw_spin_unlock(&ic->lock);
	isolator_due(ic, isolator_due_bits[kind]);
}

/**
 * isolator_note_taken - what was pending of @kind is being dealt with now
 *
 * Called before the requests themselves are run, so that one that comes later
 * is stamped anew; or it waits no longer.  Context: interrupts off, on the isolated CPU, at
 * its end, or in the watch.
 */
void isolator_note_taken(struct isolator_cpu *ic, enum isolator_kind kind)
{
	struct isolator_request *req = &ic->requests[kind];

	if (!READ_ONCE(req->since))
		return;
	raw_spin_lock(&ic->lock);
	if (req->since) {
		isolator_note_wait(ic, kind, isolator_since(req->since));
		req->since = 0;
		req->count = 0;
	}
	raw_spin_unlock(&ic->lock);
}
