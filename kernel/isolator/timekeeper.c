// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: the housekeeping CPU that keeps the time while others are isolated.
 */
#include <linux/cpumask.h>
#include <linux/isolator.h>
#include <linux/mutex.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "internal.h"

/* Innermost of Isolator's mutexes. */
static DEFINE_MUTEX(isolator_timekeeper_mutex);
static int isolator_keeper = -1;

/**
 * isolator_housekeeping_any - a CPU that is online, active and not isolated
 * @near: preferred if it is one
 *
 * One that boot parameters keep free only if there is no other.
 * There is always one: start refuses to isolate the last.  Context: any.
 */
int isolator_housekeeping_any(int near)
{
	int cpu, found = -1;

	if (near >= 0 && cpu_active(near) &&
	    !cpumask_test_cpu(near, &isolator_cpumask))
		return near;
	for_each_cpu_andnot(cpu, cpu_active_mask, &isolator_cpumask) {
		if (housekeeping_test_cpu(cpu, HK_TYPE_TIMER))
			return cpu;
		if (found < 0)
			found = cpu;
	}
	return found >= 0 ? found : cpumask_first(cpu_online_mask);
}

/** isolator_timekeeper - the CPU that keeps the time and takes our timers */
int isolator_timekeeper(void)
{
	int cpu = READ_ONCE(isolator_keeper);

	return cpu >= 0 ? cpu : isolator_housekeeping_any(-1);
}

/**
 * isolator_timekeeper_beside - a CPU that can keep the time, other than @cpu
 * @cpu: one that is about to be isolated or to go, or -1
 *
 * Active, not isolated and not of nohz_full=: one of these stops its tick in user
 * mode, and with it the time.  The present timekeeper if it is one.
 * Returns -1 if there is none.  Context: any; a snapshot.
 */
int isolator_timekeeper_beside(int cpu)
{
	int timekeeper = READ_ONCE(isolator_keeper), other, found = -1;

	for_each_cpu_andnot(other, cpu_active_mask, &isolator_cpumask) {
		if (other == cpu || tick_nohz_full_cpu(other))
			continue;
		if (found < 0 || other == timekeeper)
			found = other;
	}
	return found;
}

/**
 * isolator_elect_timekeeper - choose the CPU that keeps the time and watches the deadlines
 * @leaving: a CPU that is about to go, or -1
 *
 * Its tick does not stop while any CPU is isolated.  Where nobody can take its
 * place, which is so with nohz_full= only, it stays: hot-plug takes no CPU offline
 * then that keeps the time.  Context: process, may sleep.
 */
void isolator_elect_timekeeper(int leaving)
{
	int next;

	mutex_lock(&isolator_timekeeper_mutex);
	/*
	 * A start that is going to be refused has its CPU in the mask under this lock only.  Seen
	 * here, it could leave no other but one that is about to go.
	 */
	raw_spin_lock_irq(&isolator_lock);
	next = isolator_timekeeper_beside(leaving);
	if (next < 0)
		next = leaving;
	WRITE_ONCE(isolator_keeper, cpumask_empty(&isolator_cpumask) ? -1 : next);
	raw_spin_unlock_irq(&isolator_lock);
	if (isolator_keeper >= 0)
		smp_call_function_single(next, tick_isolator_take, NULL, 1);
	isolator_watch();
	mutex_unlock(&isolator_timekeeper_mutex);
}
