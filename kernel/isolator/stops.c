// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: stops of the machine whose function shows whether it is alone, for tests.
 * Whoever reads /proc/isolator/stops checks: kernel code that runs while the function does
 * sees it halfway; code that did not synchronise afterwards runs text of before.  And a system
 * call that has its own CPU interrupted.
 */
#include <linux/delay.h>
#include <linux/irq_work.h>
#include <linux/isolator.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/string.h>

#ifdef CONFIG_X86
#include <asm/text-patching.h>
#else
#include <asm/patching.h>
#endif

#include "internal.h"

#define ISOLATOR_STOPS_MAX	100000
#define ISOLATOR_STOPS_US	1000	/* so that others have the time to come in */

/* Both are changed by each stop, one at its begin and one at its end. */
static u32 isolator_stops_begun, isolator_stops_done;
static atomic_t isolator_stops_halfway, isolator_stops_stale, isolator_stops_reads;
static atomic_t isolator_stops_works;

#if defined(CONFIG_X86) && defined(CONFIG_PREEMPT_RT)
/* Text is changed under a lock that sleeps there. */
#define ISOLATOR_STOPS_SHOWN	U32_MAX

static u32 isolator_stops_text(void)
{
	return READ_ONCE(isolator_stops_done);
}

static void isolator_stops_rewrite(u32 value) { }
#elif defined(CONFIG_X86)
#define ISOLATOR_STOPS_SHOWN	U32_MAX

/* Returns the value that is part of the instruction. */
static noinline u32 isolator_stops_text(void)
{
	u32 value;

	asm volatile(".globl isolator_stops_site\n"
		     "isolator_stops_site: movl $0, %0" : "=a" (value));
	return value;
}

static void isolator_stops_rewrite(u32 value)
{
	/* Behind the operation code; the machine is stopped, as for the debugger. */
	text_poke_kgdb(isolator_stops_site + 1, &value, sizeof(value));
}
#else
/* So much of a value is part of an instruction. */
#define ISOLATOR_STOPS_SHOWN	U16_MAX

static noinline u32 isolator_stops_text(void)
{
	register u32 value asm("w0");

	asm volatile(".globl isolator_stops_site\n"
		     "isolator_stops_site: movz %w0, #0" : "=r" (value));
	return value;
}

static void isolator_stops_rewrite(u32 value)
{
	/* movz w0, #value; nobody else runs the kernel meanwhile. */
	aarch64_insn_patch_text_nosync(isolator_stops_site,
				       0x52800000 | (value & ISOLATOR_STOPS_SHOWN) << 5);
}
#endif

static int isolator_stop_and_change(void *unused)
{
	u32 value = isolator_stops_begun + 1;

	WRITE_ONCE(isolator_stops_begun, value);
	udelay(ISOLATOR_STOPS_US);
	isolator_stops_rewrite(value);
	WRITE_ONCE(isolator_stops_done, value);
	return 0;
}

static void isolator_stops_nothing(void *unused) { }

static void isolator_stops_worked(struct irq_work *work)
{
	atomic_inc(&isolator_stops_works);
}

static DEFINE_PER_CPU(struct irq_work, isolator_stops_work) =
	IRQ_WORK_INIT_HARD(isolator_stops_worked);

/* -EBUSY: the last one has not run yet. */
static int isolator_stops_raise(void)
{
	bool raised;

	preempt_disable();
	raised = irq_work_queue(this_cpu_ptr(&isolator_stops_work));
	preempt_enable();
	return raised ? 0 : -EBUSY;
}

static int isolator_stop_machine(unsigned int stops, bool everybody)
{
	while (stops--) {
		/* It is to be alone in the kernel. */
		int ret = everybody ? stop_machine(isolator_stop_and_change, NULL, NULL) :
			  stop_machine_gated(isolator_stop_and_change, NULL, NULL);

		if (ret)
			return ret;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/**
 * isolator_stops_write - stop the machine so many times, or interrupt a CPU and do not wait
 * @text: a number, which leaves isolated CPUs alone; "all" and a number, which does not;
 *	  "call" and a CPU's; or "work": irq_work of this CPU, the last that is done
 *
 * Returns 0, -EBUSY, -EINTR, -EINVAL, -ENXIO (that CPU is offline)
 * or -ERANGE.  Context: process, may sleep.
 */
int isolator_stops_write(char *text)
{
	bool call = str_has_prefix(text, "call "), all = str_has_prefix(text, "all ");
	unsigned int number;
	int ret;

	if (sysfs_streq(text, "work"))
		return isolator_stops_raise();
	ret = kstrtouint(call ? text + 5 : all ? text + 4 : text, 0, &number);
	if (ret)
		return ret;
	if (!call)
		return number && number <= ISOLATOR_STOPS_MAX ?
		       isolator_stop_machine(number, all) : -ERANGE;
	if (number >= nr_cpu_ids)
		return -ERANGE;
	/* From the memory of this CPU, of both kinds, which may be taken offline next. */
	on_each_cpu_mask(cpumask_of(number), isolator_stops_nothing, NULL, false);
	return smp_call_function_single(number, isolator_stops_nothing, NULL, false);
}

/**
 * isolator_stops_show - what the readers saw so far, this one included
 *
 * Interrupts are off meanwhile, so that this CPU is not stopped between two looks.
 */
int isolator_stops_show(struct seq_file *m, void *v)
{
	unsigned long flags;
	u32 begun, done, now;

	local_irq_save(flags);
	done = READ_ONCE(isolator_stops_done);
	now = isolator_stops_text();
	begun = READ_ONCE(isolator_stops_begun);
	local_irq_restore(flags);
	atomic_inc(&isolator_stops_reads);
	if (begun != done)
		atomic_inc(&isolator_stops_halfway);
	else if (now != (done & ISOLATOR_STOPS_SHOWN))
		atomic_inc(&isolator_stops_stale);
	seq_printf(m, "stops %u reads %d halfway %d stale %d works %d\n", done,
		   atomic_read(&isolator_stops_reads), atomic_read(&isolator_stops_halfway),
		   atomic_read(&isolator_stops_stale), atomic_read(&isolator_stops_works));
	return 0;
}
