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
/* Who kept the time before the first start; -1 while nothing is isolated. */
static int isolator_kept_before = -1;
/* The CPU that hot-plug is about to take; active still, it could be chosen. -1: none. */
static int isolator_leaving = -1;

/* Not kept free by boot parameters. */
static bool isolator_is_ordinary(int cpu)
{
	return housekeeping_test_cpu(cpu, HK_TYPE_TIMER) &&
	       housekeeping_test_cpu(cpu, HK_TYPE_DOMAIN);
}

/**
 * isolator_housekeeping_any - a CPU that is online, active and not isolated
 * @near: preferred if it is one
 *
 * One that isolcpus= keeps free only if there is no other, one of nohz_full= last.
 * There is always one: start refuses to isolate the last.  Context: any.
 */
int isolator_housekeeping_any(int near)
{
	int cpu, found = -1, spare = -1;

	if (near >= 0 && cpu_active(near) &&
	    !cpumask_test_cpu(near, &isolator_cpumask))
		return near;
	for_each_cpu_andnot(cpu, cpu_active_mask, &isolator_cpumask) {
		if (isolator_is_ordinary(cpu))
			return cpu;
		if (found < 0 && housekeeping_test_cpu(cpu, HK_TYPE_TIMER))
			found = cpu;
		if (spare < 0)
			spare = cpu;
	}
	if (found < 0)
		found = spare;
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
 * @cpu: one that is about to be isolated, or -1
 *
 * Active, not about to go, not isolated and not of nohz_full=: one of these stops its
 * tick in user mode, and with it the time.  The present timekeeper if it is one; one that
 * isolcpus= keeps free only if there is no other.
 * Returns -1 if there is none.  Context: any; a snapshot.
 */
int isolator_timekeeper_beside(int cpu)
{
	int timekeeper = READ_ONCE(isolator_keeper), other, found = -1, spare = -1;

	for_each_cpu_andnot(other, cpu_active_mask, &isolator_cpumask) {
		if (other == cpu || other == READ_ONCE(isolator_leaving) ||
		    tick_nohz_full_cpu(other))
			continue;
		if (!isolator_is_ordinary(other)) {
			if (spare < 0 || other == timekeeper)
				spare = other;
		} else if (found < 0 || other == timekeeper) {
			found = other;
		}
	}
	return found >= 0 ? found : spare;
}

/**
 * isolator_elect_timekeeper - choose the CPU that keeps the time and watches the deadlines
 *
 * Its tick does not stop while any CPU is isolated.  Where nobody can take its
 * place, which is so with nohz_full= only, it stays: hot-plug takes no CPU offline
 * then that keeps the time.  So the duty also goes back, at the last end, to the CPU
 * that had it: by itself it does not, and a suspend could not take that CPU offline.
 * Context: process, may sleep.
 */
void isolator_elect_timekeeper(void)
{
	int next;

	mutex_lock(&isolator_timekeeper_mutex);
	if (isolator_kept_before < 0)
		isolator_kept_before = tick_isolator_keeper();
	/*
	 * A start that is going to be refused has its CPU in the mask under this lock only.  Seen
	 * here, it could leave no other but one that is about to go.
	 */
	raw_spin_lock_irq(&isolator_lock);
	next = isolator_timekeeper_beside(-1);
	if (next < 0)
		next = READ_ONCE(isolator_leaving);
	if (cpumask_empty(&isolator_cpumask)) {
		next = tick_nohz_full_enabled() ? isolator_kept_before : -1;
		isolator_kept_before = -1;
		WRITE_ONCE(isolator_keeper, -1);
	} else {
		WRITE_ONCE(isolator_keeper, next);
	}
	raw_spin_unlock_irq(&isolator_lock);
	/* One that went offline since takes nothing: the duty stays where it is. */
	if (next >= 0)
		smp_call_function_single(next, tick_isolator_take, NULL, 1);
	isolator_watch();
	mutex_unlock(&isolator_timekeeper_mutex);
}

/**
 * isolator_timekeeper_leaves - @cpu is about to go offline: another keeps the time
 *
 * Until isolator_timekeeper_left() it is not chosen again: who restores a CPU or starts
 * meanwhile elects too.
 * Returns -EBUSY if it had the time before the first start, and nohz_full= has it get
 * that back: without isolation it does not go offline either.
 * Context: process, may sleep, cpus_write_lock() held.
 */
int isolator_timekeeper_leaves(int cpu)
{
	bool kept;

	mutex_lock(&isolator_timekeeper_mutex);
	kept = tick_nohz_full_enabled() && cpu == isolator_kept_before;
	if (!kept)
		WRITE_ONCE(isolator_leaving, cpu);
	mutex_unlock(&isolator_timekeeper_mutex);
	return kept ? -EBUSY : 0;
}

/** isolator_timekeeper_left - it has gone, or stays.  Context: cpus_write_lock() held. */
void isolator_timekeeper_left(void)
{
	WRITE_ONCE(isolator_leaving, -1);
}
