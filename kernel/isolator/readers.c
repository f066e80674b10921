// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: who may count, or read registers, on an isolated CPU.
 */
#include <linux/isolator.h>
#include <linux/sched.h>

#include "internal.h"

/* Would this take a call on isolated @cpu, at a moment when it may be refused? */
static bool isolator_asks_other(int cpu)
{
	return cpu >= 0 && cpu < nr_cpu_ids && isolator_cpu(cpu) &&
	       raw_smp_processor_id() != cpu && !isolator_bypass() &&
	       !isolator_fault(ISOLATOR_FAULT_ALLOW_READERS);
}

/**
 * isolator_perf_refused - would this event need a call on an isolated CPU?
 * @task: the task to be counted, NULL for all
 * @cpu: the CPU to be counted on, -1 for all
 *
 * Opening, enabling and reading such an event run on its CPU.  Who is there may
 * count there, the owner among them.  The administrator may choose that
 * others wait, as for any unknown call, instead of being refused.  An event that
 * was opened before the start stays; reading it from elsewhere waits for a tick.
 *
 * Context: process context.  A snapshot: an event that slips in while isolation
 * starts is one of those that were opened before.
 */
bool isolator_perf_refused(struct task_struct *task, int cpu)
{
	if (cpu < 0 && task && isolator_is_owner(task))
		cpu = task_cpu(task);
	if (!isolator_asks_other(cpu) || !READ_ONCE(isolator_limits.refuse_perf))
		return false;
	isolator_count(cpu, ISOLATOR_COUNT_REFUSED, isolator_perf_refused);
	return true;
}

/**
 * __isolator_read_refused - would this read of a register interrupt @cpu?
 * @cpu: whose MSR or CPUID is to be read
 *
 * As for perf: who is there may, and the administrator may choose that others wait.
 *
 * Context: any in which a cross-call may be waited for.
 */
bool __isolator_read_refused(int cpu)
{
	if (!isolator_asks_other(cpu) || !READ_ONCE(isolator_limits.refuse_msr))
		return false;
	isolator_count(cpu, ISOLATOR_COUNT_REFUSED, __isolator_read_refused);
	return true;
}
EXPORT_SYMBOL_GPL(__isolator_read_refused); /* for the cpuid device */
