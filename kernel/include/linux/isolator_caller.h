/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolator for code of the kernel: a polling loop that nothing interrupts, in a kernel thread
 * or in a task's own system call.  Documentation/core-api/isolator.rst has the rules.
 *
 *	static noinstr int poll_quietly(struct isolator_caller *caller)
 *	{
 *		const u32 *due = caller->due;
 *		int ret = isolator_quiet_enter(caller);
 *
 *		if (ret)
 *			return ret;
 *		while (!isolator_quiet_due(due))
 *			look_at_the_device();
 *		isolator_quiet_leave(caller);
 *		return 0;
 *	}
 *
 *	ret = isolator_kernel_start(&caller, bound_ns);
 *	while (!ret && !kthread_should_stop())
 *		ret = poll_quietly(&caller) ?: isolator_kernel_tick(&caller);
 *	isolator_kernel_stop(&caller);
 *
 * The loop also ends by itself, when the isolation does (-ECANCELED).  A thread that kthread_stop()
 * is for must not return then: it waits to be stopped, as samples/isolator/isolator_poll.c does.
 */
#ifndef _LINUX_ISOLATOR_CALLER_H
#define _LINUX_ISOLATOR_CALLER_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/types.h>
#include <uapi/linux/isolator.h>

struct page;
struct task_struct;

/**
 * struct isolator_caller - an isolation that code of the kernel has started
 * @due: ISOLATOR_DUE_*, 0: a tick has nothing to do; stays readable until the stop
 * @page: where that word is
 * @cpu: that is isolated
 * @task: that has started it; only this one enters, ticks and stops
 * @text: the last place that has entered a quiet section, known to be one
 */
struct isolator_caller {
	const u32	*due;
	struct page	*page;
	int		cpu;
	const struct task_struct *task;
	unsigned long	text;
};

/**
 * isolator_quiet_due - is a tick due?  One load; all that a quiet section may ask
 * @due: isolator_caller.due, read before the section
 *
 * Return: ISOLATOR_DUE_*.  With any the section is left within the bound that was promised,
 * with ISOLATOR_DUE_NOW at once: all other CPUs may be waiting.
 */
static __always_inline u32 isolator_quiet_due(const u32 *due)
{
	return READ_ONCE(*due);
}

#ifdef CONFIG_ISOLATOR

int isolator_kernel_start(struct isolator_caller *caller, u64 bound_ns);
int isolator_kernel_tick(struct isolator_caller *caller);
void isolator_kernel_stop(struct isolator_caller *caller);
int isolator_quiet_enter(struct isolator_caller *caller);
void isolator_quiet_leave(struct isolator_caller *caller);

#else

static inline int isolator_kernel_start(struct isolator_caller *caller, u64 bound_ns)
{
	return -EOPNOTSUPP;
}

static inline int isolator_kernel_tick(struct isolator_caller *caller) { return -EOPNOTSUPP; }
static inline void isolator_kernel_stop(struct isolator_caller *caller) { }
static inline int isolator_quiet_enter(struct isolator_caller *caller) { return -EOPNOTSUPP; }
static inline void isolator_quiet_leave(struct isolator_caller *caller) { }

#endif

#endif /* _LINUX_ISOLATOR_CALLER_H */
