// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: who may count on an isolated CPU.
 */
#include <linux/isolator.h>
#include <linux/sched.h>

#include "internal.h"

/**
 * isolator_perf_refused - would this event need a call on an isolated CPU?
 * @task: the task to be counted, NULL for all
 * @cpu: the CPU to be counted on, -1 for all
 *
 * Opening, enabling and reading such an event run on its CPU.  The owner may
 * count itself: it is there when it asks.  The administrator may choose that
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
	if (cpu < 0 || cpu >= nr_cpu_ids || !isolator_cpu(cpu) ||
	    (isolator_is_owner(current) && task_cpu(current) == cpu))
		return false;

	if (!READ_ONCE(isolator_limits.refuse_perf))
		return false;
	isolator_count(cpu, ISOLATOR_COUNT_REFUSED, isolator_perf_refused);
	return true;
}
