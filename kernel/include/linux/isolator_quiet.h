/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolator: what makes a CPU and a process quiet, called at start, at stop and
 * before a return to user mode, and from the hooks.
 */
#ifndef _LINUX_ISOLATOR_QUIET_H
#define _LINUX_ISOLATOR_QUIET_H

#include <linux/cpumask.h>
#include <linux/isolator_mm.h>
#include <linux/jump_label.h>
#include <linux/types.h>

struct task_struct;

#ifdef CONFIG_ISOLATOR

/* core.c */
bool isolator_pin_owner(int cpu);

/* placement.c */
int isolator_place(struct task_struct *p, const struct cpumask *allowed, int cpu);
bool isolator_accepts_task(struct task_struct *p, const struct cpumask *cpus);
void isolator_reset_child_affinity(struct task_struct *p);
int isolator_push_tasks(int cpu);

/* callers.c */
bool isolator_has_callers(void);
void __isolator_kick(struct task_struct *k);

/**
 * isolator_kick - kernel thread @k is to stop or to park: make a tick due, if it isolates a CPU
 *
 * It looks at these requests at its ticks only, and to be woken up says nothing to a thread that
 * runs.  Context: process; @k was woken up, so that it sees the request.
 */
static inline void isolator_kick(struct task_struct *k)
{
	if (isolator_enabled())
		__isolator_kick(k);
}

/* mm/mlock.c */
int isolator_lock_memory(void);

/* mm.c */
extern atomic_long_t isolator_mm_kept_pages;

/** isolator_mm_keeps - isolator_mm(), of a page that is to be migrated: it stays */
static __always_inline bool isolator_mm_keeps(struct mm_struct *mm)
{
	if (!isolator_mm(mm))
		return false;
	atomic_long_inc(&isolator_mm_kept_pages);
	return true;
}

/** isolator_mm_kept - how many migrations were refused so far; a hint */
static inline unsigned long isolator_mm_kept(void)
{
	return atomic_long_read(&isolator_mm_kept_pages);
}

/* affinity.c */
int isolator_affinity(struct task_struct *p, const struct cpumask *mask, bool user);
bool isolator_only_isolated(struct task_struct *p, const struct cpumask *mask);

/* local.c */
bool isolator_local_dirty(void);
void isolator_local_drain(void);
void isolator_local_start(int cpu);

/* rcu.c */
DECLARE_STATIC_KEY_FALSE(isolator_rcu_key);
bool isolator_rcu_take(struct rcu_head *head, rcu_callback_t func);
void isolator_rcu_flush(void);
void isolator_rcu_quiesce(void);
long rcu_local_callbacks(void);
void rcu_isolator_threads(int cpu);

/* kernel/sched/membarrier.c */
void membarrier_isolator_end(int cpu);

/* Have callbacks ever been taken?  For rcu_barrier(). */
static __always_inline bool isolator_rcu_taken(void)
{
	return static_branch_unlikely(&isolator_rcu_key);
}

/* clock.c */
void isolator_clock_quiesce(int cpu);
void isolator_clock_restore(int cpu);

/* irqs.c */
void isolator_irq_mask(struct cpumask *mask);
int isolator_move_irqs(int cpu);

/* readers.c */
bool isolator_perf_refused(struct task_struct *task, int cpu);
bool __isolator_read_refused(int cpu);

/* A register of @cpu is to be read by a call there: -EBUSY instead? */
static inline bool isolator_read_refused(int cpu)
{
	return isolator_enabled() && __isolator_read_refused(cpu);
}

#else /* CONFIG_ISOLATOR */

/* Never defined: only code that isolator_enabled() removes names it. */
extern struct cpumask isolator_cpumask;

static inline bool isolator_has_callers(void) { return false; }
static inline void isolator_kick(struct task_struct *k) { }

static inline int isolator_place(struct task_struct *p,
				 const struct cpumask *allowed, int cpu)
{
	return cpu;
}

static inline bool isolator_accepts_task(struct task_struct *p,
					 const struct cpumask *cpus)
{
	return true;
}

static inline void isolator_reset_child_affinity(struct task_struct *p) { }

static __always_inline bool isolator_mm_keeps(struct mm_struct *mm)
{
	return false;
}

static inline unsigned long isolator_mm_kept(void)
{
	return 0;
}

static inline bool isolator_rcu_take(struct rcu_head *head, rcu_callback_t func)
{
	return false;
}

static inline void isolator_rcu_flush(void) { }

static __always_inline bool isolator_rcu_taken(void)
{
	return false;
}

static inline void isolator_irq_mask(struct cpumask *mask) { }

static inline bool isolator_perf_refused(struct task_struct *task, int cpu)
{
	return false;
}

static inline bool isolator_read_refused(int cpu)
{
	return false;
}

static inline int isolator_affinity(struct task_struct *p,
				    const struct cpumask *mask, bool user)
{
	return 1;
}

static inline bool isolator_only_isolated(struct task_struct *p,
					  const struct cpumask *mask)
{
	return false;
}

#endif /* CONFIG_ISOLATOR */
#endif /* _LINUX_ISOLATOR_QUIET_H */
