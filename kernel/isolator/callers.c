// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: callers in the kernel.  A kernel thread, or a task in a system call of its own,
 * isolates its CPU and polls in quiet sections: see section.c.
 */
#include <linux/atomic.h>
#include <linux/isolator.h>
#include <linux/isolator_caller.h>
#include <linux/isolator_parts.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "internal.h"

/* Isolations of code of the kernel: what has them has quiet sections. */
static atomic_t isolator_callers = ATOMIC_INIT(0);

/**
 * isolator_has_callers - may a CPU that seems to be in user mode use the kernel's page tables?
 *
 * A caller counts itself and waits for a grace period before its first section.
 * Context: in an RCU reader, until what depends on it is sent.
 */
bool isolator_has_callers(void)
{
	return atomic_read(&isolator_callers) && !isolator_fault(ISOLATOR_FAULT_SPLIT_LATE);
}

/**
 * isolator_of_caller - the CPU that the current task has isolated by @caller
 *
 * NULL: that was ended.  Its word is dead then, also if the task has started again; the page is
 * the caller's for so long, so that no other start has it.  Context: process.
 */
struct isolator_cpu *isolator_of_caller(const struct isolator_caller *caller)
{
	struct isolator_cpu *ic = isolator_of_current();

	return ic && caller->page && READ_ONCE(ic->page) == page_address(caller->page) ? ic : NULL;
}

/* A reference of its own: an end from outside comes at any time.  -ECANCELED if one did. */
static int isolator_caller_page(struct isolator_caller *caller)
{
	struct isolator_cpu *ic;
	int ret = -ECANCELED;

	preempt_disable();
	ic = isolator_of_current();
	if (ic) {
		raw_spin_lock_irq(&ic->lock);
		if (isolator_running(ic) && ic->page) {
			caller->page = virt_to_page(ic->page);
			get_page(caller->page);
			caller->due = &ic->page->due;
			caller->cpu = ic->cpu;
			caller->task = current;
			ret = 0;
		}
		raw_spin_unlock_irq(&ic->lock);
	}
	preempt_enable();
	return ret;
}

static void isolator_caller_end(void)
{
	struct isolator_stop_args stop = { .size = sizeof(stop) };

	isolator_stop_one(&stop);	/* it may have been ended from outside */
}

/**
 * isolator_kernel_start - isolate the CPU of the current task, for code of the kernel
 * @caller: filled in
 * @bound_ns: how long a quiet section may go on once a tick is due, 1 ms at least; no longer
 *	than the administrator's limit for a sender that spins
 *
 * The promise: others may wait that long, with preemption or interrupts off.  The task is
 * pinned to one CPU, which the administrator lets be isolated (/proc/isolator/cpus).  Who may
 * do this is the caller's to check.  Within an isolation of the task's own it nests.
 *
 * Context: process, may sleep, waits for grace periods; takes the locks of hot-plug, and that of
 * the task's memory, if it has any: none of them is held, for reading neither.
 * Return: 0, and isolator_kernel_stop() is due; -ERANGE for the bound, -EINVAL if an outer
 * start has promised another; else as ISOLATOR_IOC_START without its checks of capabilities:
 * -ENOTUNIQ, -EACCES, -EALREADY, -EBUSY, -EAGAIN, -EINTR, -ENOMEM, -ECANCELED.
 */
int isolator_kernel_start(struct isolator_caller *caller, u64 bound_ns)
{
	struct isolator_start_args args = {
		.size = sizeof(args),
		.mask = ISOLATOR_MASK_ALL,
		.deadline_ns = bound_ns,
		.spin_ns = bound_ns,
	};
	const struct isolator_start_args asked = args;
	int ret;

	memset(caller, 0, sizeof(*caller));
	/* 0 and never are promises of none. */
	if (!bound_ns || bound_ns == ISOLATOR_DEADLINE_NEVER)
		return -ERANGE;
	ret = isolator_check_args(&args);
	if (ret)
		return ret;
	/* The count, then the grace period: see isolator_has_callers(). */
	atomic_inc(&isolator_callers);
	synchronize_rcu();
	ret = isolator_begin_admitted(&args, &asked, isolator_may_lock());
	if (ret)
		goto uncount;
	ret = isolator_caller_page(caller);
	if (!ret)
		return 0;
	isolator_caller_end();
uncount:
	atomic_dec(&isolator_callers);
	return ret;
}
EXPORT_SYMBOL_GPL(isolator_kernel_start);

/**
 * isolator_kernel_tick - make up for what the quiet section has missed
 * @caller: started by the current task, out of its section
 *
 * Runs timers, yields to threads of this CPU for a bounded time, and is a quiescent state of
 * all kinds of RCU.  Call it when isolator_quiet_due() says so.
 *
 * Context: process, may sleep.  Return: 0; -ECANCELED if the isolation was ended from outside:
 * isolator_kernel_stop() is still due.
 */
int isolator_kernel_tick(struct isolator_caller *caller)
{
	struct isolator_tick_args args = {
		.size = sizeof(args),
		.flags = ISOLATOR_TICK_ALL,
	};
	int ret;

	if (!isolator_of_caller(caller))
		return -ECANCELED;
	cond_resched_tasks_rcu_qs();
	ret = isolator_do_tick(&args);
	/* Ended meanwhile; the CPU may be another task's since. */
	return ret == -ESRCH ? -ECANCELED : ret;
}
EXPORT_SYMBOL_GPL(isolator_kernel_tick);

/* @k, a kernel thread, is to stop or to park: see isolator_kick(). */
void __isolator_kick(struct task_struct *k)
{
	if (isolator_is_owner(k) && !isolator_fault(ISOLATOR_FAULT_NO_KICK))
		kick_process(k);
}

/* Not ended yet, whoever asks.  An end has the page, too, until the section was left. */
static bool isolator_caller_runs(const struct isolator_caller *caller)
{
	struct isolator_cpu *ic = isolator_of(caller->cpu);

	return READ_ONCE(ic->owner) == caller->task &&
	       READ_ONCE(ic->page) == page_address(caller->page);
}

/**
 * isolator_kernel_stop - undo one isolator_kernel_start()
 * @caller: from that; one that has failed is left alone
 *
 * What was ended from outside has nothing left to be undone, and what the task has started since
 * stays.
 *
 * Context: process, may sleep, out of any quiet section; the task that has started @caller, or
 * any once that has exited.
 */
void isolator_kernel_stop(struct isolator_caller *caller)
{
	if (!caller->page)
		return;
	if (isolator_of_caller(caller))
		isolator_caller_end();
	/* Its section may look at the word right now: better to keep the page for good. */
	else if (WARN_ON_ONCE(isolator_caller_runs(caller)))
		return;
	put_page(caller->page);
	memset(caller, 0, sizeof(*caller));
	atomic_dec(&isolator_callers);
}
EXPORT_SYMBOL_GPL(isolator_kernel_stop);
