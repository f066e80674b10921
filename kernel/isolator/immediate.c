// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: requests that are delivered at once.  They are counted and remembered.
 */
#include <linux/isolator.h>
#include <linux/kernel.h>
#include <linux/ptrace.h>
#include <linux/spinlock.h>

#include <asm/irq_regs.h>

#include "internal.h"

#include <trace/events/isolator.h>

#define ISOLATOR_LOCK_TRIES	100000

/**
 * isolator_count_immediate - one more of @kind that is not queued, though it might be
 * @ic: the CPU
 * @kind: what it is
 * @func: callback, or NULL
 *
 * Context: interrupts off, not from an NMI.
 */
void isolator_count_immediate(struct isolator_cpu *ic, enum isolator_kind kind, void *func)
{
	char comm[TASK_COMM_LEN];

	isolator_sender_name(comm);
	raw_spin_lock(&ic->lock);
	isolator_count_locked(ic, ISOLATOR_COUNT_IMMEDIATE, kind, func, comm);
	raw_spin_unlock(&ic->lock);
}

/*
 * Some who come here report that a CPU is stuck, maybe with the lock held: the
 * count is lost then, not the report.
 */
static void isolator_record_immediate(int cpu, void *func, unsigned long caller)
{
	struct isolator_cpu *ic = isolator_of(cpu);
	struct isolator_request req = {
		.func = func,
		.caller = caller,
		.cpu = raw_smp_processor_id(),
	};
	int tries = ISOLATOR_LOCK_TRIES;
	unsigned long flags;

	req.pid = isolator_sender_name(req.comm);
	while (!raw_spin_trylock_irqsave(&ic->lock, flags)) {
		if (!--tries)
			return;
		cpu_relax();
	}
	isolator_count_locked(ic, ISOLATOR_COUNT_IMMEDIATE, ISOLATOR_KIND_CALL, func,
			      req.comm);
	isolator_record_delivery(ic, ISOLATOR_KIND_CALL, &req, 0, false, true);
	raw_spin_unlock_irqrestore(&ic->lock, flags);
	trace_isolator_immediate(cpu, func);
}

/**
 * isolator_note_immediate - @cpu is about to be interrupted: count and remember it
 * @cpu: an isolated CPU
 * @func: what it is interrupted by, one way or another
 *
 * Not counted from an NMI.  Context: any.
 */
void isolator_note_immediate(int cpu, void *func)
{
	/* From an NMI: the lock may be held by what it interrupted. */
	if (isolator_in_user(cpu) && !in_nmi())
		isolator_record_immediate(cpu, func, _RET_IP_);
}

/**
 * isolator_note_device_irq - a device interrupts this CPU: count it, if it was quiet
 * @handler: what deals with it
 *
 * Start moves device interrupts away.  One that comes could not be moved, or its
 * affinity names isolated CPUs only.  Once for each handler that is run.
 * Context: hard interrupt, from its entry on.
 */
void isolator_note_device_irq(void *handler)
{
	struct pt_regs *regs = get_irq_regs();

	if (this_cpu_read(isolator_hot.armed) && regs && user_mode(regs))
		isolator_record_immediate(smp_processor_id(), handler, _RET_IP_);
}

/**
 * isolator_deliver_now - deliver at once and count it
 * @cpu: isolated or not
 * @func: what is delivered
 *
 * Context: any but NMI.
 */
void isolator_deliver_now(int cpu, void *func)
{
	if (!isolator_cpu(cpu))
		return;
	if (isolator_in_user(cpu))
		isolator_record_immediate(cpu, func, _RET_IP_);
	isolator_deliver(cpu);
}
