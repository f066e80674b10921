// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: a quiet section of the kernel, in which a caller polls with interrupts off.
 *
 * To everybody else a quiet section is user mode: the CPU's state says so, RCU does not watch,
 * and what was sent is queued, deferred or avoided by the same looks at the same state.  What
 * is assumed of user mode must hold of the section, too, though it is kernel text:
 *
 *  - It runs no text that is patched: it lies in .noinstr.text, where neither probes nor the
 *    function tracer come, and has no static key, no static call and no call out of it
 *    (tools/quiet-check).  So a text sync may wait until the section is left.
 *  - It uses no translation that changes: the thread's stack, its own module, and memory
 *    that it holds.  So may a flush of other kernel addresses.
 *  - It is past every point that others ask about: enter may sleep, so that no reader, handler
 *    or trampoline is beneath it; and it begins none.
 *  - It takes no lock, so that nobody waits for what it holds.
 *
 * What is not assumed of it:
 *
 *  - that the kernel's page tables are not loaded: isolator_has_callers().
 *  - that it can be kept from the kernel: a stop of the machine stops it, too, see gate.c.
 *  - that it can be interrupted: whoever would do that asks it to leave instead
 *    (isolator_due_now()), and waits for at most the bound that was promised.
 */
#include <linux/context_tracking.h>
#include <linux/isolator.h>
#include <linux/isolator_caller.h>
#include <linux/isolator_parts.h>
#include <linux/kdebug.h>
#include <linux/kthread.h>
#include <linux/lockdep.h>
#include <linux/mmu_context.h>
#include <linux/module.h>
#include <linux/nmi.h>
#include <linux/notifier.h>
#include <linux/panic.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched/debug.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include <asm/isolator.h>
#include <asm/sections.h>

#include "internal.h"

/* A stay where a device's interrupt may wait, that nobody else can see. */
#define ISOLATOR_STAY_MAX	NSEC_PER_SEC

#ifdef CONFIG_LOCKDEP
/* Held in a section: inside of it no lock may be taken, of whatever kind. */
static struct lock_class_key isolator_section_key;
static struct lockdep_map isolator_section_map = {
	.name			= "isolator_quiet_section",
	.key			= &isolator_section_key,
	.wait_type_outer	= LD_WAIT_FREE,
	.wait_type_inner	= LD_WAIT_FREE,
};
#endif

/**
 * isolator_in_section - is @cpu in a quiet section of the kernel?  Only a snapshot
 *
 * The state first: once it says user, the flag tells what that is.  Context: any.
 */
bool isolator_in_section(int cpu)
{
	return isolator_in_user(cpu) && READ_ONCE(per_cpu(isolator_hot, cpu).section);
}

/**
 * isolator_due_now - have @cpu leave its quiet section at once
 *
 * In place of an interrupt, or for the sake of one that waits.  Context: any but NMI.
 */
void isolator_due_now(int cpu)
{
	struct isolator_cpu *ic = isolator_of(cpu);

	if (isolator_fault(ISOLATOR_FAULT_NO_NOW))
		return;
	if (!READ_ONCE(ic->now_since))
		WRITE_ONCE(ic->now_since, ktime_get_mono_fast_ns());
	isolator_due(ic, ISOLATOR_DUE_NOW);
}

static void isolator_tell_overdue(struct irq_work *work)
{
	static DEFINE_RATELIMIT_STATE(rs, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);
	struct isolator_cpu *ic = container_of(work, struct isolator_cpu, overdue_work);

	/* A backtrace may wait, and of a host that is overcommitted each stay is overdue. */
	if (!__ratelimit(&rs))
		return;
	pr_warn("isolator: CPU %d is overdue in its quiet section, entered from %pS: it has promised %llu ns\n",
		ic->cpu, (void *)READ_ONCE(ic->section), READ_ONCE(ic->spin));
	if (arch_isolator_nmi())
		trigger_single_cpu_backtrace(ic->cpu);
}

/**
 * isolator_overdue - a quiet section was not left within the bound: tell so
 * @ic: the CPU, in a section or just out of it
 *
 * Once a stay.  Return: false if it was told before.  Context: any but NMI, any lock.
 */
bool isolator_overdue(struct isolator_cpu *ic)
{
	if (xchg(&ic->overdue, true))
		return false;
	irq_work_queue(&ic->overdue_work);
	return true;
}

/* It was asked to leave, and did not; no sender of a queued request counts that. */
static void isolator_check_now(struct isolator_cpu *ic)
{
	u64 since = READ_ONCE(ic->now_since);
	char comm[TASK_COMM_LEN];
	unsigned long flags;

	if (!since || isolator_since(since) <= READ_ONCE(ic->spin) ||
	    !isolator_overdue(ic))
		return;
	isolator_sender_name(comm);
	raw_spin_lock_irqsave(&ic->lock, flags);
	isolator_count_locked(ic, ISOLATOR_COUNT_MISSED, ISOLATOR_KIND_CALL, isolator_due_now,
			      comm);
	raw_spin_unlock_irqrestore(&ic->lock, flags);
}

/* Was something left for @ic's CPU, and its section not told?  Senders do both. */
static bool isolator_left_untold(struct isolator_cpu *ic)
{
	/* An end frees the page after a grace period; the watch's timer is a reader. */
	struct isolator_page *page = READ_ONCE(ic->page);

	return READ_ONCE(per_cpu(isolator_hot, ic->cpu).left) && page && !READ_ONCE(page->due);
}

/**
 * isolator_watch_section - of a CPU that seems to be in user mode; from the watch's timer
 *
 * What the CPU sends to itself, from an NMI, waits for its leave, and nobody else knows of it.
 * So may the interrupt of a device that could not be moved, or was aimed at the CPU since: that
 * one cannot be seen from here, and may never come: the section is left now and then.
 */
void isolator_watch_section(struct isolator_cpu *ic)
{
	u64 now, stay;

	if (!isolator_in_section(ic->cpu))
		return;
	now = ktime_get_mono_fast_ns();
	stay = READ_ONCE(ic->stay);
	if (isolator_left_untold(ic) ||
	    (READ_ONCE(ic->irqs_come) && now > stay && now - stay > ISOLATOR_STAY_MAX))
		isolator_due_now(ic->cpu);
	isolator_check_now(ic);
}

/*
 * A fault in a section: its thread would die with the CPU's state as it is, and all that runs
 * there afterwards would be user mode to RCU.
 */
static int isolator_section_died(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == DIE_OOPS && raw_cpu_read(isolator_hot.section))
		panic("isolator: a fault in a quiet section");
	return NOTIFY_DONE;
}

static struct notifier_block isolator_die = {
	.notifier_call = isolator_section_died,
};

/* Once at boot. */
void __init isolator_section_init(void)
{
	int cpu;

	/* In hard interrupts: who waits for the section may keep threads from running. */
	for_each_possible_cpu(cpu)
		isolator_of(cpu)->overdue_work = IRQ_WORK_INIT_HARD(isolator_tell_overdue);
	register_die_notifier(&isolator_die);
}

/* Can nothing at @ip be patched, as a probe or a traced function? */
static bool isolator_is_noinstr(unsigned long ip)
{
	bool is = false;

	if (ip >= (unsigned long)__noinstr_text_start && ip < (unsigned long)__noinstr_text_end)
		return true;
#ifdef CONFIG_MODULES
	struct module *module;

	preempt_disable();
	module = __module_text_address(ip);
	is = module && ip - (unsigned long)module->noinstr_text_start < module->noinstr_text_size;
	preempt_enable();
#endif
	return is;
}

/*
 * Is the current task to do something else than poll?  A thread that is to park has no flag
 * that its kick could leave behind: one that comes before the section is taken in the kernel,
 * and the loop has looked before.
 */
static bool isolator_interrupted(void)
{
	return signal_pending(current) || (kthread_should_stop_or_park() &&
					   !isolator_fault(ISOLATOR_FAULT_MISS_PARK));
}

/*
 * As on the way to user mode, until nothing is left to be done.  Returns 0 with interrupts
 * off; -ECANCELED or -EINTR with interrupts on.
 */
static int isolator_section_prepare(void)
{
	struct isolator_cpu *ic;
	struct isolator_hot *hot;

	local_irq_disable();
	for (;;) {
		hot = this_cpu_ptr(&isolator_hot);
		ic = this_cpu_ptr(&isolator_cpus);
		if (!isolator_running(ic) || isolator_interrupted())
			break;
		if (!READ_ONCE(hot->left) && hot->armed && !need_resched())
			goto quiet;
		if (need_resched()) {
			local_irq_enable();
			schedule();
			local_irq_disable();
			continue;
		}
		isolator_prepare_user();
	}
	local_irq_enable();
	return isolator_interrupted() ? -EINTR : -ECANCELED;
quiet:
	/* What that wakes is seen by the last look. */
	rcu_nocb_flush_deferred_wakeup();
	/* A kernel thread's: whoever frees some of these tables would wait for this CPU. */
	if (!current->mm && !isolator_fault(ISOLATOR_FAULT_BORROW_TABLES))
		leave_mm();
	lock_map_acquire(&isolator_section_map);
	/* Who has seen the last stay may have asked this CPU to leave it since, or told of it. */
	WRITE_ONCE(ic->now_since, 0);
	WRITE_ONCE(ic->overdue, false);
	WRITE_ONCE(ic->stay, ktime_get_mono_fast_ns());
	/* Before the state; pairs with the acquire in isolator_in_user(). */
	WRITE_ONCE(hot->section, true);
	return 0;
}

/* The state says kernel again, what was deferred is done: the CPU is as any other. */
static void isolator_section_over(void)
{
	struct isolator_cpu *ic = this_cpu_ptr(&isolator_cpus);

	this_cpu_write(isolator_hot.section, false);
	lock_map_release(&isolator_section_map); /* what follows takes locks */
	isolator_check_now(ic);
	WRITE_ONCE(ic->overdue, false);
	if (ic->page && (READ_ONCE(ic->page->due) & ISOLATOR_DUE_NOW))
		atomic_andnot(ISOLATOR_DUE_NOW, (atomic_t *)&ic->page->due);
	isolator_user_exit();
	local_irq_enable();
	/* What has waited for an interrupt has come by now, and may have woken somebody. */
	if (need_resched())
		schedule();
}

/* A planted fault: RCU watches, and nobody leaves the CPU out.  Planted before the start. */
static __always_inline void isolator_section_state(bool quiet)
{
	if (isolator_fault(ISOLATOR_FAULT_WATCH_SECTION))
		return;
	if (quiet)
		ct_isolator_enter();
	else
		ct_isolator_leave();
}

static int isolator_section_allowed(struct isolator_caller *caller, unsigned long ip)
{
	struct isolator_cpu *ic;

	might_sleep();
	/* Another's word says nothing of this CPU: nobody could end such a section. */
	if (caller->task != current)
		return -EINVAL;
	/* Whoever wants such a lock would wait for the section, however long that is. */
	lockdep_assert_none_held_once();
	ic = isolator_of_caller(caller);
	if (!ic)
		return -ECANCELED;
	if (caller->text != ip) {
		if (WARN_ONCE(!isolator_is_noinstr(ip),
			      "isolator: a quiet section at %pS, which can be patched\n",
			      (void *)ip))
			return -EINVAL;
		caller->text = ip;
	}
	WRITE_ONCE(ic->section, ip);
	return 0;
}

/**
 * isolator_quiet_enter - begin a quiet section: nothing interrupts what follows
 * @caller: started by the current task
 *
 * What may interrupt is done first, in the kernel.  Then interrupts are off, and RCU does not
 * watch.  Until isolator_quiet_leave() the caller, a noinstr function, calls nothing outside of
 * its own noinstr section, takes no lock, reads nothing under RCU, does not fault, and looks
 * at isolator_quiet_due().
 *
 * Context: process, may sleep, no lock held.
 * Return: 0 in the section; not in it: -ECANCELED if the isolation was ended from outside,
 * -EINTR if a signal is pending or the thread is to stop or to park, -EINVAL if the caller is
 * no noinstr function or the current task has not started @caller.  -EBUSY: in a section
 * already, which goes on.
 */
noinstr int isolator_quiet_enter(struct isolator_caller *caller)
{
	unsigned long ip = (unsigned long)__builtin_return_address(0);
	int ret;

	/* Nothing here may run in a section, no warning either.  Interrupts off: of this CPU. */
	if (raw_irqs_disabled() && raw_cpu_read(isolator_hot.section))
		return -EBUSY;
	instrumentation_begin();
	ret = isolator_section_allowed(caller, ip) ?: isolator_section_prepare();
	instrumentation_end();
	while (!ret) {
		/*
		 * As the return to user mode: the state, then (full barrier) whatever was left or
		 * sent, and the kernel again if there is anything.
		 */
		isolator_section_state(true);
		if (likely(!isolator_exit_raced()))
			break;
		isolator_section_state(false);
		instrumentation_begin();
		/* What was sent too late for prepare is waited for there, as before user mode. */
		this_cpu_write(isolator_hot.left, true);
		isolator_section_over();
		ret = isolator_section_prepare();
		instrumentation_end();
	}
	return ret;
}
EXPORT_SYMBOL_GPL(isolator_quiet_enter);

/**
 * isolator_quiet_leave - end a quiet section
 * @caller: that has entered it
 *
 * Runs what was deferred, before any text that may have been patched meanwhile, and takes
 * what was queued.  A stop of the machine may hold it for as long as the machine is stopped.
 *
 * Context: in the section; out of one, a warning.  Afterwards: process, interrupts on; may
 * have slept.
 */
noinstr void isolator_quiet_leave(struct isolator_caller *caller)
{
	/* Interrupts off: of this CPU. */
	if (unlikely(!raw_irqs_disabled() || !raw_cpu_read(isolator_hot.section))) {
		instrumentation_begin();
		WARN_ONCE(1, "isolator: leave without a quiet section\n");
		instrumentation_end();
		return;
	}
	isolator_section_state(false);
	instrumentation_begin();
	isolator_section_over();
	instrumentation_end();
}
EXPORT_SYMBOL_GPL(isolator_quiet_leave);
