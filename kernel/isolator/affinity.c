// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: who may change an affinity while CPUs are isolated.
 */
#include <linux/cpumask.h>
#include <linux/isolator.h>
#include <linux/sched.h>

/**
 * isolator_affinity - may the affinity of an owner become this?
 * @p: a task that owns an isolated CPU
 * @mask: the new affinity
 * @user: sched_setaffinity() asks, not a cpuset or another part of the kernel
 *
 * An owner is pinned; if it moved, its CPU would be isolated for nobody.  So
 * sched_setaffinity() is refused, to the owner itself too.  A kernel that takes
 * the CPU away must succeed: isolation ends.  So must one that gives more CPUs to
 * an owner that only its cpuset has pinned.  One that asked for its CPU itself keeps
 * to that, whatever else the mask has.
 *
 * Context: @p->pi_lock and its rq lock held, interrupts off: who starts
 * isolation publishes the owner under @p->pi_lock too, after it saw that the
 * task is pinned, so either this sees the owner or that sees the new mask.
 * Return: -EBUSY refused, 0 leave the affinity alone, 1 end isolation and go on.
 */
int isolator_affinity(struct task_struct *p, const struct cpumask *mask, bool user)
{
	const struct cpumask *own = p->user_cpus_ptr;
	int cpu = task_cpu(p);

	if (user) {
		isolator_count(cpu, ISOLATOR_COUNT_REFUSED, sched_setaffinity);
		return -EBUSY;
	}

	if (!cpumask_test_cpu(cpu, mask))
		return 1;
	return cpumask_weight(mask) > 1 &&
	       !(own && cpumask_test_cpu(cpu, own) && cpumask_weight_and(mask, own) == 1);
}

/**
 * isolator_only_isolated - would this affinity leave a user task isolated CPUs only?
 * @p: the task that sched_setaffinity() was asked for
 * @mask: the new affinity, within its cpuset
 *
 * Such a task would wait as long as the owner stays in user mode, and would be
 * owed the CPU at every tick.  Kernel threads are the administrator's.  This is
 * advice, not a lock: a CPU that becomes isolated a moment later is dealt with
 * by isolator_push_tasks(), which reports who stays.
 *
 * Context: process context.
 */
bool isolator_only_isolated(struct task_struct *p, const struct cpumask *mask)
{
	int cpu, isolated = -1;

	if (p->flags & PF_KTHREAD)
		return false;
	/* Starts and ends go on meanwhile: advice needs no lock.  An offline CPU is no way out. */
	for_each_cpu_and(cpu, mask, cpu_active_mask) {
		if (!isolator_cpu(cpu))
			return false;
		isolated = cpu;
	}
	if (isolated < 0)
		return false;
	isolator_count(isolated, ISOLATOR_COUNT_REFUSED, sched_setaffinity);
	return true;
}
