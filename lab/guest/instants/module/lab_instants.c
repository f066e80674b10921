// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lab_instants: one request of each kind to an isolated CPU, and what came of it.
 *
 * Some of the functions are not exported; the lab knows where they are (System.map, nokaslr).
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/jump_label.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "instants.h"

static int cpu = 1;
module_param(cpu, int, 0444);
/* Where these functions are. */
static unsigned long text_poke_sync_at, flush_tlb_kernel_range_at, irq_work_queue_on_at;
module_param_named(text_poke_sync, text_poke_sync_at, ulong, 0444);
module_param_named(flush_tlb_kernel_range, flush_tlb_kernel_range_at, ulong, 0444);
module_param_named(irq_work_queue_on, irq_work_queue_on_at, ulong, 0444);

static atomic_t ran[INSTANTS_COUNTERS];
static DEFINE_STATIC_KEY_FALSE(flipping);
static struct page *pages[2];
static unsigned int mapped;
static unsigned int *window;
static struct task_struct *thread, *preempting;
static atomic_t thread_asked, preempting_asked;
static struct hrtimer left_behind;

static void count(void *kind)
{
	atomic_inc(&ran[(unsigned long)kind]);
}

static call_single_data_t async = CSD_INIT(count, (void *)INSTANTS_ASYNC);
static call_single_data_t before = CSD_INIT(count, (void *)INSTANTS_BEFORE);

static void count_work(struct irq_work *work)
{
	atomic_inc(&ran[INSTANTS_IRQ_WORK]);
}

static struct irq_work work = IRQ_WORK_INIT_HARD(count_work);

static void count_timer(struct timer_list *timer)
{
	atomic_inc(&ran[INSTANTS_TIMER]);
}

static DEFINE_TIMER(timer, count_timer);

static int count_stop(void *unused)
{
	atomic_inc(&ran[INSTANTS_STOP]);
	return 0;
}

static enum hrtimer_restart never(struct hrtimer *t)
{
	return HRTIMER_NORESTART;
}

static int count_wakeups(void *kind)
{
	atomic_t *asked = kind == (void *)INSTANTS_THREAD ? &thread_asked : &preempting_asked;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (atomic_xchg(asked, 0))
			atomic_inc(&ran[(unsigned long)kind]);
		else
			schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void wake(struct task_struct *p, atomic_t *asked)
{
	atomic_set(asked, 1);
	wake_up_process(p);
}

/* The other page, at the same address. */
static void exchange(void)
{
	void (*flush)(unsigned long from, unsigned long to);
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)window, &level);

	WRITE_ONCE(mapped, !mapped);
	set_pte(pte, mk_pte(pages[mapped], PAGE_KERNEL));
	flush = (void *)flush_tlb_kernel_range_at;
	flush((unsigned long)window, (unsigned long)window + PAGE_SIZE);
}

static long request(unsigned long kind)
{
	bool (*queue_on)(struct irq_work *what, int where) = (void *)irq_work_queue_on_at;
	void (*sync)(void) = (void *)text_poke_sync_at;

	switch (kind) {
	case INSTANTS_TEXT:
		sync();
		return 0;
	case INSTANTS_KEY:
		if (static_key_enabled(&flipping))
			static_branch_disable(&flipping);
		else
			static_branch_enable(&flipping);
		return 0;
	case INSTANTS_TLB:
		exchange();
		return 0;
	case INSTANTS_EXCLUDED:
		kick_all_cpus_sync();
		return 0;
	case INSTANTS_STOP:
		return stop_machine_gated(count_stop, NULL, NULL);
	case INSTANTS_CALL:
		return smp_call_function_single(cpu, count, (void *)INSTANTS_CALL, 1);
	case INSTANTS_ASYNC:
		return smp_call_function_single_async(cpu, &async);
	case INSTANTS_BEFORE:
		return smp_call_function_single_async(cpu, &before);
	case INSTANTS_IRQ_WORK:
		return queue_on(&work, cpu) ? 0 : -EBUSY;
	case INSTANTS_THREAD:
		wake(thread, &thread_asked);
		return 0;
	case INSTANTS_RESCHED:
		wake(preempting, &preempting_asked);
		return 0;
	case INSTANTS_TIMER:
		timer.expires = jiffies + 1;
		add_timer_on(&timer, cpu);
		return 0;
	}
	return -EINVAL;
}

static void look(struct instants_seen *seen)
{
	seen->page = READ_ONCE(*window);
	seen->key = 0;
	if (static_branch_unlikely(&flipping))
		seen->key = 1;
}

static long lab_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct instants_counts counts;
	struct instants_seen seen;
	int i;

	switch (command) {
	case INSTANTS_REQUEST:
		return request(argument);
	case INSTANTS_LEAVE:
		hrtimer_start(&left_behind, ms_to_ktime(3600 * 1000), HRTIMER_MODE_REL_PINNED);
		fallthrough;
	case INSTANTS_LOOK:
		look(&seen);
		return copy_to_user((void __user *)argument, &seen, sizeof(seen)) ? -EFAULT : 0;
	case INSTANTS_CANCEL:
		hrtimer_cancel(&left_behind);
		/*
		 * Of a trial in which it was lost, and which says so.  With PREEMPT_RT the thread
		 * that runs it may wait for a tick of the task, which waits for us: not sync.
		 */
		timer_delete(&timer);
		return 0;
	case INSTANTS_COUNTS:
		for (i = 0; i < INSTANTS_COUNTERS; i++)
			counts.ran[i] = atomic_read(&ran[i]);
		counts.now.page = mapped;
		counts.now.key = static_key_enabled(&flipping);
		return copy_to_user((void __user *)argument, &counts, sizeof(counts)) ? -EFAULT : 0;
	}
	return -ENOTTY;
}

static const struct file_operations lab_files = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = lab_ioctl,
};

static struct miscdevice lab_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "lab_instants",
	.fops = &lab_files,
};

static struct task_struct *new_thread(unsigned long kind)
{
	struct task_struct *p = kthread_create_on_cpu(count_wakeups, (void *)kind, cpu,
						      "lab_instants/%u");

	if (!IS_ERR(p))
		wake_up_process(p);
	return p;
}

/* Never unloaded: the guest ends. */
static int __init lab_init(void)
{
	int i;

	if (!text_poke_sync_at || !flush_tlb_kernel_range_at || !irq_work_queue_on_at)
		return -EINVAL;
	for (i = 0; i < 2; i++) {
		pages[i] = alloc_page(GFP_KERNEL);
		if (!pages[i])
			return -ENOMEM;
		*(unsigned int *)page_address(pages[i]) = i;
	}
	window = vmap(pages, 1, VM_MAP, PAGE_KERNEL);
	thread = new_thread(INSTANTS_THREAD);
	preempting = new_thread(INSTANTS_RESCHED);
	if (!window || IS_ERR(thread) || IS_ERR(preempting))
		return -ENOMEM;
	sched_set_fifo(preempting);
	hrtimer_init(&left_behind, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
	left_behind.function = never;
	return misc_register(&lab_device);
}
module_init(lab_init);
MODULE_DESCRIPTION("Requests to an isolated CPU, for the lab");
MODULE_LICENSE("GPL");
