// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: keeps tasks that may run elsewhere off the isolated CPUs.
 *
 * The scheduler asks here only after it chose an isolated CPU.  A task whose
 * affinity names isolated CPUs and nothing else stays where it was put: the
 * administrator asked for that, and it runs whenever the owner is in the kernel
 * and yields its CPU.
 */
#include <linux/cpuset.h>
#include <linux/isolator.h>
#include <linux/kthread.h>
#include <linux/mmu_context.h>
#include <linux/sched/isolation.h>
#include <linux/sched/signal.h>

#include "../sched/sched.h"

/* How often isolator_push_tasks() waits one tick for what cannot move yet. */
#define PUSH_PASSES	20

/* The least busy of @allowed, not isolated, that isolcpus= names or does not; else @cpu. */
static int least_busy(const struct cpumask *allowed, bool named, int cpu)
{
	unsigned int least = UINT_MAX;
	int i, best = cpu;

	for_each_cpu_andnot(i, allowed, &isolator_cpumask) {
		unsigned int running;

		if (!cpu_active(i) || housekeeping_test_cpu(i, HK_TYPE_DOMAIN) == named)
			continue;
		if (available_idle_cpu(i))
			return i;
		running = READ_ONCE(cpu_rq(i)->nr_running);
		if (running < least) {
			least = running;
			best = i;
		}
	}

	return best;
}

/**
 * isolator_place - a better CPU for a task that was to go to an isolated one
 * @p: the task
 * @allowed: its affinity, or the one that it is about to get
 * @cpu: the isolated CPU that the scheduler chose
 *
 * Context: @p->pi_lock or the rq lock of @p is held, so @allowed is stable;
 * any interrupt state.  Takes no lock, reads other runqueues without theirs: a
 * stale count gives a worse choice, never a wrong one.
 * Return: an active CPU of @allowed that is not isolated, an idle one if
 * possible, one that isolcpus= keeps free only if there is no other: nobody takes
 * a task off it again.  @cpu if there is none or if @p must stay where it is.
 */
int isolator_place(struct task_struct *p, const struct cpumask *allowed, int cpu)
{
	int best;

	if (is_migration_disabled(p) || kthread_is_per_cpu(p))
		return cpu;

	best = least_busy(allowed, false, cpu);
	return best != cpu ? best : least_busy(allowed, true, cpu);
}

/**
 * isolator_accepts_task - may a task go to one of these CPUs that is not isolated?
 * @p: the task
 * @cpus: the CPUs
 *
 * Context: any; @p's affinity is stable or a stale answer does no harm.
 */
bool isolator_accepts_task(struct task_struct *p, const struct cpumask *cpus)
{
	int i;

	for_each_cpu_and(i, &p->cpus_mask, cpus) {
		if (!cpumask_test_cpu(i, &isolator_cpumask))
			return true;
	}

	return false;
}

/**
 * isolator_reset_child_affinity - gives a child of an owner the CPUs of its cpuset
 * @p: the child, not yet woken for the first time
 *
 * An owner is pinned to one CPU, and a child inherits that.  Isolation is not
 * inherited, so the child would wait behind its parent for ever.  The mask that
 * the parent asked for with sched_setaffinity() is forgotten too, or a later
 * cpuset change would pin the child again.  What isolcpus= keeps free is for those
 * that ask for it: a child gets it only if it could run nowhere else now.
 *
 * Context: process context, the parent, may sleep, no lock held.  @p runs
 * nowhere yet, so only a cpuset change can race: both end in a mask that the
 * cpuset allows.  If there is no memory for a mask the child keeps the
 * inherited one and runs when its parent sleeps or ticks.
 */
void isolator_reset_child_affinity(struct task_struct *p)
{
	cpumask_var_t mask;
	unsigned long flags;
	int cpu;

	if (p->flags & PF_NO_SETAFFINITY || !alloc_cpumask_var(&mask, GFP_KERNEL))
		return;

	raw_spin_lock_irqsave(&p->pi_lock, flags);
	do_set_cpus_allowed(p, task_cpu_possible_mask(p));
	raw_spin_unlock_irqrestore(&p->pi_lock, flags);

	cpuset_cpus_allowed(p, mask);
	for_each_cpu_and(cpu, mask, housekeeping_cpumask(HK_TYPE_DOMAIN)) {
		if (cpu_active(cpu) && !isolator_cpu(cpu)) {
			cpumask_and(mask, mask, housekeeping_cpumask(HK_TYPE_DOMAIN));
			break;
		}
	}
	set_cpus_allowed_ptr(p, mask);
	free_cpumask_var(mask);
}

enum push { PUSH_GONE, PUSH_BUSY, PUSH_STAYS };

/* pi_lock is held: the affinity stays and nobody wakes @p. */
static enum push push_task_locked(struct task_struct *p, int cpu)
{
	struct rq *src = cpu_rq(cpu), *dst;
	struct rq_flags srf, drf;
	int to;

	if (task_cpu(p) != cpu)
		return PUSH_GONE;
	/* Also one that sleeps, and wakes here: with PREEMPT_RT whoever waits for a lock. */
	if (is_migration_disabled(p))
		return PUSH_BUSY;
	if (!p->on_rq)
		return PUSH_GONE;
	to = isolator_place(p, p->cpus_ptr, cpu);
	if (to == cpu)
		return PUSH_STAYS;

	/* As in migrate_swap_stop(); what runs there is us, or we are not the owner any more. */
	dst = cpu_rq(to);
	guard(double_rq_lock)(src, dst);
	if (task_rq(p) != src || !task_on_rq_queued(p) || task_on_cpu(src, p) || !cpu_active(to))
		return PUSH_BUSY;

	rq_pin_lock(src, &srf);
	rq_pin_lock(dst, &drf);
	deactivate_task(src, p, 0);
	set_task_cpu(p, to);
	activate_task(dst, p, 0);
	wakeup_preempt(dst, p, 0);
	rq_unpin_lock(dst, &drf);
	rq_unpin_lock(src, &srf);
	return PUSH_GONE;
}

/* Moves @p off @cpu, which is ours. */
static enum push push_task(struct task_struct *p, int cpu)
{
	unsigned long flags;
	enum push res;

	raw_spin_lock_irqsave(&p->pi_lock, flags);
	res = push_task_locked(p, cpu);
	raw_spin_unlock_irqrestore(&p->pi_lock, flags);
	return res;
}

/* One look at all tasks: how many could not move yet, and how many of users stay. */
static void push_pass(int cpu, int *busy, int *stay)
{
	struct task_struct *g, *p;

	*busy = 0;
	*stay = 0;
	rcu_read_lock();
	for_each_process_thread(g, p) {
		enum push res;

		if (p == current || task_cpu(p) != cpu)
			continue;
		/* Only a hint: of who is on this CPU nobody else changes it. */
		if (!READ_ONCE(p->on_rq) && !data_race(is_migration_disabled(p)))
			continue;
		res = push_task(p, cpu);
		if (res == PUSH_BUSY)
			++*busy;
		if (res != PUSH_GONE && !(p->flags & PF_KTHREAD))
			++*stay;
	}
	rcu_read_unlock();
}

/**
 * isolator_push_tasks - moves all movable tasks off this CPU's runqueue
 * @cpu: this CPU
 *
 * Pre: the caller starts to isolate @cpu, which is in isolator_cpumask; the static
 * key is on, and a synchronize_rcu() has passed since.  select_task_rq() runs
 * with interrupts off, so whoever chose @cpu before that has enqueued by now
 * and is found here, and whoever chooses later chooses another CPU.
 * Post: no task is queued on @cpu that may run elsewhere, apart from those that
 * stayed in a migrate_disable() section all the time.
 *
 * Context: process context on @cpu, may sleep: a task that cannot move at the
 * moment needs this CPU to get on, so it is given some ticks.
 * Return: how many user tasks other than the caller remain queued; -ECANCELED if the
 * isolation was ended: the caller may be on another CPU, where a task that it
 * moves could be running.
 */
int isolator_push_tasks(int cpu)
{
	int pass, busy, stay;

	lockdep_assert_preemption_enabled();
	for (pass = 0; pass < PUSH_PASSES; pass++) {
		if (!isolator_pin_owner(cpu))
			return -ECANCELED;
		push_pass(cpu, &busy, &stay);
		migrate_enable();
		if (!busy)
			break;
		schedule_timeout_uninterruptible(1);
	}

	return stay;
}
