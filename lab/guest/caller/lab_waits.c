// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What waits for a time, for the lab.  Who writes a parameter is who asks:
 *
 *	work MS		delayed work that names no CPU; read: how often it has run
 *	work_cpu	of the CPU on which its timer waits, -1 if it does not
 *	timer CPU	a timer of the wheel that expires there at once; -1: it is deleted; read: 1
 *			as long as it waits
 *
 * And as it is loaded:
 *
 *	begin_on CPU	a function that is needed for the begin only is called there, unwaited for
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

static atomic_t ran = ATOMIC_INIT(0);

static void work_runs(struct work_struct *unused)
{
	atomic_inc(&ran);
}

static DECLARE_DELAYED_WORK(work, work_runs);

static void timer_expires(struct timer_list *unused)
{
}

static DEFINE_TIMER(timer, timer_expires);

static int work_set(const char *text, const struct kernel_param *unused)
{
	unsigned int ms;
	int ret = kstrtouint(text, 0, &ms);

	if (ret)
		return ret;
	mod_delayed_work(system_unbound_wq, &work, msecs_to_jiffies(ms));
	return 0;
}

static int work_get(char *text, const struct kernel_param *unused)
{
	return sysfs_emit(text, "%d\n", atomic_read(&ran));
}

static int work_cpu_get(char *text, const struct kernel_param *unused)
{
	bool waits = timer_pending(&work.timer);

	return sysfs_emit(text, "%d\n", waits ? (int)(READ_ONCE(work.timer.flags) &
						      TIMER_CPUMASK) : -1);
}

static int timer_set(const char *text, const struct kernel_param *unused)
{
	int cpu, ret = kstrtoint(text, 0, &cpu);

	if (ret)
		return ret;
	timer_delete_sync(&timer);
	if (cpu < 0)
		return 0;
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	timer.expires = jiffies + 1;
	add_timer_on(&timer, cpu);
	return 0;
}

static int timer_get(char *text, const struct kernel_param *unused)
{
	return sysfs_emit(text, "%d\n", timer_pending(&timer));
}

static const struct kernel_param_ops work_ops = { .set = work_set, .get = work_get };
static const struct kernel_param_ops work_cpu_ops = { .get = work_cpu_get };
static const struct kernel_param_ops timer_ops = { .set = timer_set, .get = timer_get };

module_param_cb(work, &work_ops, NULL, 0644);
module_param_cb(work_cpu, &work_cpu_ops, NULL, 0444);
module_param_cb(timer, &timer_ops, NULL, 0644);

static int begin_on = -1;
module_param(begin_on, int, 0444);

static void __init begins(void *unused)
{
}

static int __init waits_init(void)
{
	return begin_on < 0 ? 0 : smp_call_function_single(begin_on, begins, NULL, 0);
}

static void __exit waits_exit(void)
{
	timer_shutdown_sync(&timer);
	cancel_delayed_work_sync(&work);
}

module_init(waits_init);
module_exit(waits_exit);
MODULE_DESCRIPTION("Delayed work and timers that wait, for the lab");
MODULE_LICENSE("GPL");
