// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A polling loop of the kernel for the lab: its quiet section has marks for the observer, and
 * breaks a rule when it is asked to.  samples/isolator/isolator_poll.c is how it should be.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/isolator_caller.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#ifdef CONFIG_X86
#include <asm/set_memory.h>
#endif

#include "marker.h"

/* MARK_QUIET_BEGIN, MARK_QUIET_END: what runs between them on this CPU is looked at. */
#define LAB_CALLER_WINDOW	1

enum fault {
	FAULT_NONE,
	FAULT_LOCK,
	FAULT_PRINTK,
	FAULT_RCU,
	FAULT_CALL,
	FAULT_SLEEP,
	FAULT_DEAF,	/* goes on for fault_ms, whatever comes */
	FAULT_OOPS,	/* a fault of the processor's: the last that is made in the loop */
	FAULT_LATE,	/* due, and it goes on for fault_ms */
	FAULT_PLACE,	/* a section in text that can be patched */
	FAULT_SLOW,	/* none: fault_ms pass between the loop's look and the section */
	FAULT_LEAVE,	/* a leave without a section */
};

static int cpu = 1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "the CPU of the polling thread; -1: none");

static unsigned int bound_us = 10000;
module_param(bound_us, uint, 0444);

/* One fault, made once in the next stay. */
static unsigned int fault;
module_param(fault, uint, 0644);

static unsigned int fault_ms = 100;
module_param(fault_ms, uint, 0644);

static unsigned long rounds, ticks, stays, now_seen;
module_param(rounds, ulong, 0444);
module_param(ticks, ulong, 0444);
module_param(stays, ulong, 0444);
module_param(now_seen, ulong, 0444);

static int started = -EINPROGRESS;
module_param(started, int, 0444);

/* Where the section is, for whoever compares. */
static unsigned long section_begin, section_size;
module_param(section_begin, ulong, 0444);
module_param(section_size, ulong, 0444);

static DEFINE_SPINLOCK(lock);
static struct task_struct *poller;

static noinline void somewhere_else(void)
{
	WRITE_ONCE(rounds, rounds + 1);
}

/* The clock without a call; only differences count, in the processor's own unit. */
static __always_inline u64 counter(void)
{
#ifdef CONFIG_X86
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return low | (u64)high << 32;
#else
	u64 value;

	asm volatile("mrs %0, cntvct_el0" : "=r" (value));
	return value;
#endif
}

static unsigned long counts_a_ms;

static __always_inline void spin(void)
{
	u64 begin = counter(), wanted = (u64)READ_ONCE(fault_ms) * READ_ONCE(counts_a_ms);

	while (counter() - begin < wanted)
		cpu_relax();
}

/* All that tools/quiet-check finds in this module stands here. */
static __always_inline void go_wrong(unsigned int which)
{
	switch (which) {
	case FAULT_LOCK:
		spin_lock(&lock);
		spin_unlock(&lock);
		break;
	case FAULT_PRINTK:
		printk(KERN_INFO "lab_caller: from a quiet section\n");
		break;
	case FAULT_RCU:
		rcu_read_lock();
		rcu_read_unlock();
		break;
	case FAULT_CALL:
		somewhere_else();
		break;
	case FAULT_SLEEP:
		might_sleep();
		break;
	case FAULT_DEAF:
		spin();
		break;
	case FAULT_OOPS:
		WRITE_ONCE(*(int *)8, 1);
		break;
	}
}

static noinstr int poll_quietly(struct isolator_caller *caller)
{
	const u32 *due = caller->due;
	unsigned int which;
	u32 bits;
	int ret;

	ret = isolator_quiet_enter(caller);
	if (ret)
		return ret;
	MARK(MARK_QUIET_BEGIN, LAB_CALLER_WINDOW);
	WRITE_ONCE(stays, stays + 1);
	while (!(bits = isolator_quiet_due(due))) {
		WRITE_ONCE(rounds, rounds + 1);
		which = READ_ONCE(fault);
		if (unlikely(which) && which < FAULT_LATE) {
			WRITE_ONCE(fault, FAULT_NONE);
			go_wrong(which);
		}
		cpu_relax();
	}
	if (unlikely(READ_ONCE(fault) == FAULT_LATE)) {
		WRITE_ONCE(fault, FAULT_NONE);
		spin();
	}
	if (bits & ISOLATOR_DUE_NOW)
		WRITE_ONCE(now_seen, now_seen + 1);
	MARK(MARK_QUIET_END, LAB_CALLER_WINDOW);
	isolator_quiet_leave(caller);
	return 0;
}

static noinline int poll_anywhere(struct isolator_caller *caller)
{
	int ret = isolator_quiet_enter(caller);

	if (!ret)
		isolator_quiet_leave(caller);
	return ret;
}

static void measure_counter(void)
{
	u64 begin = ktime_get_ns(), count = counter();

	while (ktime_get_ns() - begin < 10 * NSEC_PER_MSEC)
		cpu_relax();
	WRITE_ONCE(counts_a_ms, div_u64(counter() - count, 10));
}

static int poll_thread(void *unused)
{
	struct isolator_caller caller;
	int ret;

	measure_counter();
	ret = isolator_kernel_start(&caller, (u64)bound_us * NSEC_PER_USEC);
	WRITE_ONCE(started, ret);
	while (!ret && !kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		if (READ_ONCE(fault) == FAULT_SLOW) {
			WRITE_ONCE(fault, FAULT_NONE);
			msleep(READ_ONCE(fault_ms));
		}
		if (READ_ONCE(fault) == FAULT_LEAVE) {
			WRITE_ONCE(fault, FAULT_NONE);
			isolator_quiet_leave(&caller);
		}
		if (READ_ONCE(fault) == FAULT_PLACE) {
			ret = poll_anywhere(&caller);
			WRITE_ONCE(fault, FAULT_NONE);
		} else {
			ret = poll_quietly(&caller) ?: isolator_kernel_tick(&caller);
		}
		if (ret == -EINTR && kthread_should_park())
			ret = 0;
		WRITE_ONCE(ticks, ticks + 1);
	}
	if (ret)
		WRITE_ONCE(started, ret);
	isolator_kernel_stop(&caller);
	while (!kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop() && !kthread_should_park())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/*
 * Splits a large page of the kernel's own mapping of memory, if it is not split yet.  Nobody puts
 * it together again, so it is kept for as long as others are asked for.
 */
static unsigned long large[16];
static unsigned int larges;

static int split(void)
{
#ifdef CONFIG_X86
	unsigned long memory;

	if (larges == ARRAY_SIZE(large))
		return -ENOSPC;
	memory = __get_free_pages(GFP_KERNEL, PMD_SHIFT - PAGE_SHIFT);
	if (!memory)
		return -ENOMEM;
	large[larges++] = memory;
	return set_memory_uc(memory, 1) ?: set_memory_wb(memory, 1);
#else
	return -EOPNOTSUPP;
#endif
}

/*
 * What a section costs, in the system call of who writes to /dev/lab_caller: "begin" isolates
 * its CPU, "end" undoes that, "none" does nothing, and "stay LOOKS BLANKS" is a section in which
 * it looks so often, and makes so many rounds without.  "split", "park", and "sleep MS" where
 * its task may not be moved, are something else.
 */
static struct isolator_caller own;

static noinstr int stay_quietly(struct isolator_caller *caller, unsigned int looks,
				unsigned int blanks)
{
	const u32 *due = caller->due;
	int ret = isolator_quiet_enter(caller);

	if (ret)
		return ret;
	while (looks && !isolator_quiet_due(due))
		looks--;
	while (blanks) {
		barrier();
		blanks--;
	}
	isolator_quiet_leave(caller);
	return 0;
}

/* As one that waits for a lock while it holds another does with PREEMPT_RT. */
static void sleep_unmoved(unsigned int ms)
{
	migrate_disable();
	msleep(ms);
	migrate_enable();
}

static int cost(const char *text)
{
	unsigned int looks, blanks, ms;

	if (!strcmp(text, "none"))
		return 0;
	if (!strcmp(text, "begin"))
		return isolator_kernel_start(&own, (u64)bound_us * NSEC_PER_USEC);
	if (!strcmp(text, "end")) {
		isolator_kernel_stop(&own);
		return 0;
	}
	if (!strcmp(text, "split"))
		return split();
	if (!strcmp(text, "park") && poller) {
		int ret = kthread_park(poller);

		kthread_unpark(poller);
		return ret;
	}
	if (sscanf(text, "sleep %u", &ms) == 1) {
		sleep_unmoved(ms);
		return 0;
	}
	if (!own.due || sscanf(text, "stay %u %u", &looks, &blanks) != 2)
		return -EINVAL;
	if (READ_ONCE(*own.due))
		isolator_kernel_tick(&own);
	return stay_quietly(&own, looks, blanks);
}

static ssize_t cost_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char text[32] = "";
	int ret;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, size))
		return -EFAULT;
	ret = cost(text);
	return ret ?: size;
}

static const struct file_operations cost_fops = {
	.owner	= THIS_MODULE,
	.write	= cost_write,
};

static struct miscdevice cost_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "lab_caller",
	.fops	= &cost_fops,
	.mode	= 0600,
};

static int __init caller_init(void)
{
	int ret;

	section_begin = (unsigned long)THIS_MODULE->noinstr_text_start;
	section_size = THIS_MODULE->noinstr_text_size;
	ret = misc_register(&cost_device);
	if (ret || cpu == -1)
		return ret;
	ret = -EINVAL;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu))
		goto deregister;
	poller = kthread_run_on_cpu(poll_thread, NULL, cpu, "lab_caller");
	ret = PTR_ERR_OR_ZERO(poller);
	if (!ret)
		return 0;
deregister:
	misc_deregister(&cost_device);
	return ret;
}

static void __exit caller_exit(void)
{
	if (poller)
		kthread_stop(poller);
	misc_deregister(&cost_device);
	while (larges)
		free_pages(large[--larges], PMD_SHIFT - PAGE_SHIFT);
}

module_init(caller_init);
module_exit(caller_exit);
MODULE_DESCRIPTION("The lab's polling loop of the kernel");
MODULE_LICENSE("GPL");
