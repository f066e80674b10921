// SPDX-License-Identifier: GPL-2.0-only
/*
 * A polling loop that nothing interrupts, as a driver might have: a kernel thread on an
 * isolated CPU looks at a doorbell and answers it.  A word of memory stands for the device.
 *
 *	echo 3 >/proc/isolator/cpus
 *	modprobe isolator_poll cpu=3
 *	echo 1 >/sys/module/isolator_poll/parameters/doorbell
 *	cat /sys/module/isolator_poll/parameters/answers
 *
 * Without cpu= there is no thread.  Then, or beside it, a task that is pinned to a CPU which may
 * be isolated polls in its own system call: read() of /dev/isolator_poll, 4 bytes, waits for
 * the next ring of the doorbell that way.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/isolator_caller.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "the CPU of the polling thread; -1: none");

static unsigned int bound_us = 10000;
module_param(bound_us, uint, 0444);
MODULE_PARM_DESC(bound_us, "what is promised: a tick that is due is made so soon");

/* The device: what rings, and what was answered last. */
static unsigned int doorbell, answers;
module_param(doorbell, uint, 0644);
module_param(answers, uint, 0444);

static unsigned long rounds, ticks;
module_param(rounds, ulong, 0444);
module_param(ticks, ulong, 0444);

static int started = -EINPROGRESS;
module_param(started, int, 0444);
MODULE_PARM_DESC(started, "0: the thread's CPU is isolated; else why not");

static struct task_struct *poller;

/*
 * All that runs with the CPU quiet.  It looks at memory that stays, in a loop whose rounds
 * are short against the bound, and calls nothing.
 */
static noinstr int poll_quietly(struct isolator_caller *caller, unsigned int seen)
{
	const u32 *due = caller->due;
	int ret;

	ret = isolator_quiet_enter(caller);
	if (ret)
		return ret;
	while (!isolator_quiet_due(due)) {
		unsigned int now = READ_ONCE(doorbell);

		WRITE_ONCE(rounds, rounds + 1);
		if (now == seen) {
			cpu_relax();
			continue;
		}
		WRITE_ONCE(answers, now);
		seen = now;
	}
	isolator_quiet_leave(caller);
	return 0;
}

static int poll_thread(void *unused)
{
	struct isolator_caller caller;
	int ret;

	ret = isolator_kernel_start(&caller, (u64)bound_us * NSEC_PER_USEC);
	WRITE_ONCE(started, ret);
	while (!ret && !kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		ret = poll_quietly(&caller, answers) ?: isolator_kernel_tick(&caller);
		if (ret == -EINTR && kthread_should_park())
			ret = 0;
		WRITE_ONCE(ticks, ticks + 1);
	}
	/* Ended from outside, the CPU is as any other, and this no longer polls; it still parks. */
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

/* As above, until it rings or a signal comes. */
static noinstr int wait_quietly(struct isolator_caller *caller, unsigned int seen)
{
	const u32 *due = caller->due;
	int ret;

	ret = isolator_quiet_enter(caller);
	if (ret)
		return ret;
	while (!isolator_quiet_due(due) && READ_ONCE(doorbell) == seen)
		cpu_relax();
	isolator_quiet_leave(caller);
	return 0;
}

static ssize_t poll_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	unsigned int now, seen = READ_ONCE(doorbell);
	struct isolator_caller caller;
	int ret;

	if (size != sizeof(now))
		return -EINVAL;
	ret = isolator_kernel_start(&caller, (u64)bound_us * NSEC_PER_USEC);
	if (ret)
		return ret;
	do {
		ret = wait_quietly(&caller, seen) ?: isolator_kernel_tick(&caller);
		now = READ_ONCE(doorbell);
	} while (!ret && now == seen);
	isolator_kernel_stop(&caller);
	if (ret)
		return ret == -EINTR ? -ERESTARTSYS : ret;
	return copy_to_user(to, &now, sizeof(now)) ? -EFAULT : sizeof(now);
}

static const struct file_operations poll_fops = {
	.owner	= THIS_MODULE,
	.read	= poll_read,
};

static struct miscdevice poll_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "isolator_poll",
	.fops	= &poll_fops,
	.mode	= 0600,
};

static int __init poll_init(void)
{
	int ret;

	ret = misc_register(&poll_device);
	if (ret || cpu < 0)
		return ret;
	ret = -EINVAL;
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		goto deregister;
	poller = kthread_run_on_cpu(poll_thread, NULL, cpu, "isolator_poll");
	ret = PTR_ERR_OR_ZERO(poller);
	if (!ret)
		return 0;
deregister:
	misc_deregister(&poll_device);
	return ret;
}

static void __exit poll_exit(void)
{
	if (poller)
		kthread_stop(poller);
	misc_deregister(&poll_device);
}

module_init(poll_init);
module_exit(poll_exit);
MODULE_DESCRIPTION("A polling loop that nothing interrupts");
MODULE_LICENSE("GPL");
