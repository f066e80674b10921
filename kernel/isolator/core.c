// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: who owns a CPU.  An isolation belongs to the thread that started it.
 *
 * isolator_mutex serialises starts, and below it a mutex of each CPU its start and its
 * restoration: a start waits for grace periods, and no task's own end waits for another
 * CPU's start.  Neither is taken with the hot-plug lock held.  isolator_lock guards who owns
 * a CPU, so that an end can come from any process context; the mutexes of the keys
 * and of the timekeeper are innermost.
 */
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/isolator.h>
#include <linux/nmi.h>

#include "internal.h"

/* Starts, one at a time. */
DEFINE_MUTEX(isolator_mutex);

/* Who owns a CPU; innermost but for the books' locks. */
DEFINE_RAW_SPINLOCK(isolator_lock);

/** isolator_owner - who isolated @cpu, only to compare with.  Context: any. */
struct task_struct *isolator_owner(int cpu)
{
	return READ_ONCE(isolator_of(cpu)->owner);
}

/** isolator_is_owner - is @p isolated right now?  Context: any. */
bool isolator_is_owner(const struct task_struct *p)
{
	return isolator_enabled() && READ_ONCE(isolator_of(task_cpu(p))->owner) == p;
}

/**
 * isolator_pin_owner - stay on @cpu, if it is still the current task's
 * @cpu: the CPU that the current task isolates
 *
 * An end clears the owner before it, a cpuset or hot-plug moves the task.  So an
 * owner is on its CPU, and one who looks after it cannot be migrated stays there,
 * whatever ends meanwhile.
 *
 * Context: process.  Return: true until migrate_enable(), which must come soon:
 * hot-plug of @cpu waits for it, so nothing that waits for hot-plug may be waited for
 * here.  False if the isolation was ended, and then the task is anywhere.
 */
bool isolator_pin_owner(int cpu)
{
	migrate_disable();
	if (isolator_owner(cpu) == current)
		return true;
	migrate_enable();
	return false;
}

/**
 * isolator_of_current - the CPU that the current task has isolated, or NULL
 *
 * One look, however many CPUs there are: an owner is on its CPU, and who is moved
 * between the two reads is none any more.  Context: any.
 */
struct isolator_cpu *isolator_of_current(void)
{
	struct isolator_cpu *here = isolator_of(raw_smp_processor_id());

	return READ_ONCE(here->owner) == current ? here : NULL;
}

/**
 * isolator_current - the CPU that the current task has isolated
 *
 * Or -ECANCELED if its isolation was ended by something else than its stop, it has not started
 * again and nobody has isolated that CPU since, or failed to at the last step; -ESRCH if it
 * has none.
 */
struct isolator_cpu *isolator_current(void)
{
	struct isolator_cpu *mine = isolator_of_current();
	int cpu;

	if (mine)
		return mine;
	smp_rmb(); /* no owner, then whom it had: pairs with isolator_disarm() */
	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);
		bool ended;

		if (READ_ONCE(ic->last) != current->pid)
			continue;
		raw_spin_lock_irq(&isolator_lock);
		ended = ic->last == current->pid && ic->last_start == current->start_time &&
			ic->end != ISOLATOR_END_STOP;
		raw_spin_unlock_irq(&isolator_lock);
		if (ended)
			return ERR_PTR(-ECANCELED);
	}
	return ERR_PTR(-ESRCH);
}

/**
 * isolator_set_allowed - the administrator's mask of CPUs that may be isolated
 *
 * CPUs that are isolated and no longer in it are ended.  May sleep.
 */
int isolator_set_allowed(const struct cpumask *mask)
{
	int cpu;

	if (!cpumask_subset(mask, cpu_possible_mask))
		return -EINVAL;
	/* A start that took its CPU before has an owner to be found below. */
	raw_spin_lock_irq(&isolator_lock);
	cpumask_copy(&isolator_allowed, mask);
	raw_spin_unlock_irq(&isolator_lock);
	/* All of them at once; then what of it sleeps is waited for. */
	for_each_possible_cpu(cpu) {
		if (!cpumask_test_cpu(cpu, &isolator_allowed))
			isolator_end_async(cpu, NULL, ISOLATOR_END_ADMIN);
	}
	for_each_possible_cpu(cpu)
		isolator_wait_restored(isolator_of(cpu));
	return 0;
}

/**
 * isolator_stop_one - ISOLATOR_IOC_STOP for the current task
 *
 * Returns 0, -EINVAL, -ESRCH, -ECANCELED.  Context: process, may sleep.
 */
int isolator_stop_one(struct isolator_stop_args *args)
{
	struct isolator_cpu *ic;
	bool ours;

	if (args->size != sizeof(*args))
		return -EINVAL;
	ic = isolator_current();
	if (IS_ERR(ic))
		return PTR_ERR(ic);
	/* Ended from outside meanwhile, the CPU may be another task's by now. */
	raw_spin_lock_irq(&isolator_lock);
	ours = ic->owner == current;
	if (ours)
		args->depth = --ic->depth;
	raw_spin_unlock_irq(&isolator_lock);
	if (!ours)
		return -ECANCELED;
	if (args->depth)
		return 0;
	/* Its own threads start again what it stopped, now that it sleeps. */
	if (isolator_end(ic, current, ISOLATOR_END_STOP))
		lockup_detector_settle(ic->cpu);
	return 0;
}

static int __init isolator_init(void)
{
	int cpu, ret;

	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);

		ic->cpu = cpu;
		raw_spin_lock_init(&ic->lock);
		mutex_init(&ic->mutex);
		INIT_WORK(&ic->end_work, isolator_end_work);
		INIT_CSD(&ic->revive, isolator_restart_tick, ic);
	}
	ret = isolator_set_policy(isolator_restart_tick, ISOLATOR_EXCLUDE);
	if (ret)
		return ret;
	isolator_watch_init();
	isolator_section_init();
	isolator_quarantine_init();
	ret = isolator_stats_init();
	if (ret)
		return ret;
	ret = isolator_system_init();
	return ret ?: isolator_proc_init();
}
subsys_initcall(isolator_init);
