// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: what ends it for everybody or for a CPU: suspend, reboot, hot-plug.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/isolator.h>
#include <linux/notifier.h>
#include <linux/reboot.h>
#include <linux/suspend.h>

#include "internal.h"

#define ISOLATOR_END_LOOK_US	100	/* an end takes as long, but for that of a quiet section */

static void isolator_end_all(enum isolator_end why)
{
	int cpu;

	for_each_possible_cpu(cpu)
		isolator_end_async(cpu, NULL, why);
}

/* What of it sleeps has been done, too.  Context: process, may sleep. */
static void isolator_end_all_wait(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		isolator_wait_restored(isolator_of(cpu));
}

/* A CPU comes or goes. */
static atomic_t isolator_hotplugs = ATOMIC_INIT(0);

/**
 * isolator_in_transition - is this a moment in which nobody may start?
 *
 * Context: any; a snapshot.
 */
bool isolator_in_transition(void)
{
	return atomic_read(&isolator_hotplugs) || isolator_bypass();
}

/**
 * isolator_hotplug_begin - cpus_write_lock() is held: nobody starts any more
 *
 * Who is isolated stays so, but on a CPU that goes: requests wait as ever, and
 * stopping the machine leaves user mode out (gate.c).
 */
void isolator_hotplug_begin(void)
{
	atomic_inc(&isolator_hotplugs);
	smp_mb__after_atomic(); /* before the look for who is isolated: see isolator_take_cpu() */
}

/** isolator_hotplug_end - the reverse */
void isolator_hotplug_end(void)
{
	isolator_timekeeper_left();
	smp_mb__before_atomic(); /* the mask of active CPUs, then this: see isolator_take_cpu() */
	atomic_dec(&isolator_hotplugs);
}

/* Suspend or reboot: nothing is queued any more, and what is queued is delivered. */
static void isolator_bypass_begin(void)
{
	int cpu;

	atomic_inc(&isolator_bypassed);
	smp_mb__after_atomic(); /* before the read of what is queued, as of each sender */
	if (!isolator_enabled())
		return;
	for_each_cpu(cpu, &isolator_cpumask) {
		if (atomic_read(&per_cpu(isolator_hot, cpu).work) &
		    ISOLATOR_WORK_QUEUED)
			isolator_deliver(cpu);
	}
}

static void isolator_bypass_end(void)
{
	smp_mb__before_atomic(); /* the mask of active CPUs, then this: see isolator_take_cpu() */
	atomic_dec(&isolator_bypassed);
}

/* A housekeeping CPU but @cpu; nr_cpu_ids: none.  @ending: one is about to become one. */
static int isolator_other_than(int cpu, bool *ending)
{
	int other;

	*ending = false;
	/* A start that fails is in the mask only while it holds the lock. */
	raw_spin_lock_irq(&isolator_lock);
	for_each_cpu_andnot(other, cpu_active_mask, &isolator_cpumask) {
		if (other != cpu)
			goto unlock;
	}
	for_each_cpu_and(other, cpu_active_mask, &isolator_cpumask) {
		if (other != cpu && !isolator_of(other)->owner)
			*ending = true;
	}
	other = nr_cpu_ids;
unlock:
	raw_spin_unlock_irq(&isolator_lock);
	return other;
}

/**
 * isolator_cpu_down - @cpu goes offline; its hot-plug thread was not woken yet
 *
 * Returns 0, or -EBUSY, with nothing done, if it cannot.
 * Context: process, cpus_write_lock() held.
 */
int isolator_cpu_down(unsigned int cpu)
{
	bool ending;
	int other, ret;

	if (!isolator_enabled())
		return 0;
	ret = isolator_timekeeper_leaves(cpu);
	if (ret)
		return ret;
	isolator_end_async(cpu, NULL, ISOLATOR_END_HOTPLUG);
	/* An end leaves the mask within D_spin, of a quiet section; it needs none of our locks. */
	while ((other = isolator_other_than(cpu, &ending)) >= nr_cpu_ids && ending)
		fsleep(ISOLATOR_END_LOOK_US);
	if (other >= nr_cpu_ids) {
		/* The last housekeeping CPU: somebody has to take its place. */
		for_each_cpu(other, &isolator_cpumask)
			isolator_end_async(other, NULL, ISOLATOR_END_HOTPLUG);
	}
	isolator_elect_timekeeper();
	return 0;
}

static int isolator_pm_notify(struct notifier_block *nb, unsigned long action,
			      void *data)
{
	switch (action) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		isolator_bypass_begin();
		isolator_end_all(ISOLATOR_END_SYSTEM);
		isolator_end_all_wait();
		break;
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		isolator_bypass_end();
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block isolator_pm_nb = {
	.notifier_call = isolator_pm_notify,
};

static int isolator_reboot_notify(struct notifier_block *nb, unsigned long action,
				  void *data)
{
	isolator_bypass_begin();
	isolator_end_all(ISOLATOR_END_SYSTEM);
	return NOTIFY_OK;
}

/* Before any driver goes down. */
static struct notifier_block isolator_reboot_nb = {
	.notifier_call = isolator_reboot_notify,
	.priority = INT_MAX,
};

/** isolator_system_init - hears of suspend and reboot.  Returns 0 or an error. */
int __init isolator_system_init(void)
{
	int ret = register_pm_notifier(&isolator_pm_nb);

	if (ret)
		return ret;
	ret = register_reboot_notifier(&isolator_reboot_nb);
	if (ret)
		unregister_pm_notifier(&isolator_pm_nb);
	return ret;
}
