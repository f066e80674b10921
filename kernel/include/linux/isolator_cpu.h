/* SPDX-License-Identifier: GPL-2.0-only */
/* Isolator: is this CPU isolated?  Small enough for <linux/smp.h>. */
#ifndef _LINUX_ISOLATOR_CPU_H
#define _LINUX_ISOLATOR_CPU_H

#include <linux/compiler.h>
#include <linux/types.h>

#ifdef CONFIG_ISOLATOR

#include <linux/cpumask.h>
#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(isolator_key);
extern struct cpumask isolator_cpumask;
#define isolator_mask ((const struct cpumask *)&isolator_cpumask)

void __isolator_resched(int cpu);

/** isolator_enabled - true from the first start to the last stop */
static __always_inline bool isolator_enabled(void)
{
	return static_branch_unlikely(&isolator_key);
}

/** isolator_cpu - true while @cpu is isolated, whatever it runs; any context */
static __always_inline bool isolator_cpu(int cpu)
{
	return isolator_enabled() && cpumask_test_cpu(cpu, &isolator_cpumask);
}

/** isolator_resched - true: the reschedule request was queued or sent */
static __always_inline bool isolator_resched(int cpu)
{
	if (!isolator_cpu(cpu))
		return false;
	__isolator_resched(cpu);
	return true;
}

#else /* !CONFIG_ISOLATOR */

#define isolator_mask cpu_none_mask

static __always_inline bool isolator_enabled(void) { return false; }
static __always_inline bool isolator_cpu(int cpu) { return false; }
static __always_inline bool isolator_resched(int cpu) { return false; }

#endif /* CONFIG_ISOLATOR */
#endif /* _LINUX_ISOLATOR_CPU_H */
