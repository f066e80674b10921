// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: starts that one task asks for another, now or at its next exec.  The
 * other task starts itself on its way to user mode: a start acts on current only.
 *
 * Who asks has the right to; who starts need not have it.
 */
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/isolator.h>
#include <linux/list.h>
#include <linux/ptrace.h>
#include <linux/refcount.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>

#include "internal.h"

/**
 * struct isolator_armed - a start that waits for its task
 * @refs: the task's side holds one until @done, who asks another
 * @node: in isolator_armed_list until the exec
 * @work: then, or at once, on the task's list
 * @task: whose; only to compare with
 * @asked: the arguments as given
 * @args: with the defaults; once @done what is in force, unless @error says why not
 * @error: 0 or negative
 * @done: it has started, or cannot
 */
struct isolator_armed {
	refcount_t			refs;
	struct list_head		node;
	struct callback_head		work;
	const struct task_struct	*task;
	struct isolator_start_args	asked;
	struct isolator_start_args	args;
	int				error;
	struct completion		done;
};

static DEFINE_SPINLOCK(isolator_armed_lock);
static LIST_HEAD(isolator_armed_list);

static void isolator_armed_put(struct isolator_armed *armed)
{
	if (refcount_dec_and_test(&armed->refs))
		kfree(armed);
}

/* The task's side is through with it. */
static void isolator_armed_done(struct isolator_armed *armed, int error)
{
	armed->error = error;
	complete_all(&armed->done);
	isolator_armed_put(armed);
}

/* On the task's way to user mode, or on that to its end. */
static void isolator_armed_start(struct callback_head *work)
{
	struct isolator_armed *armed = container_of(work, struct isolator_armed, work);

	isolator_armed_done(armed, current->flags & PF_EXITING ? -ESRCH :
			    isolator_begin_admitted(&armed->args, &armed->asked));
}

/* The one armed for @task's exec; NULL for none.  isolator_armed_lock held. */
static struct isolator_armed *isolator_armed_of(const struct task_struct *task)
{
	struct isolator_armed *armed;

	list_for_each_entry(armed, &isolator_armed_list, node) {
		if (armed->task == task)
			return armed;
	}
	return NULL;
}

/* The same, off the list now. */
static struct isolator_armed *isolator_armed_take(const struct task_struct *task)
{
	struct isolator_armed *armed;

	spin_lock(&isolator_armed_lock);
	armed = isolator_armed_of(task);
	if (armed)
		list_del_init(&armed->node);
	spin_unlock(&isolator_armed_lock);
	return armed;
}

/** isolator_armed_exec - the current task executes another program */
void isolator_armed_exec(void)
{
	struct isolator_armed *armed;

	if (list_empty_careful(&isolator_armed_list))
		return;
	armed = isolator_armed_take(current);
	if (armed && task_work_add(current, &armed->work, TWA_RESUME))
		isolator_armed_done(armed, -ESRCH);
}

/**
 * isolator_armed_exit - the current task exits: what was armed for it goes
 *
 * Called with PF_EXITING set.
 */
void isolator_armed_exit(void)
{
	struct isolator_armed *armed;

	/* The flag, then the list; isolator_arm() has it the other way round. */
	smp_mb();
	if (list_empty_careful(&isolator_armed_list))
		return;
	armed = isolator_armed_take(current);
	if (armed)
		isolator_armed_done(armed, -ESRCH);
}

/* Into the list; -EALREADY if it is armed already, -ESRCH if it exits. */
static int isolator_arm(struct isolator_armed *armed, const struct task_struct *task)
{
	int ret = 0;

	spin_lock(&isolator_armed_lock);
	if (isolator_armed_of(task)) {
		ret = -EALREADY;
	} else {
		list_add_tail(&armed->node, &isolator_armed_list);
		smp_mb(); /* the list, then the flag: see isolator_armed_exit() */
		if (READ_ONCE(task->flags) & PF_EXITING) {
			list_del_init(&armed->node);
			ret = -ESRCH;
		}
	}
	spin_unlock(&isolator_armed_lock);
	return ret;
}

/* Who waited goes away: true if the start has not begun and will not. */
static bool isolator_disarm_task(struct isolator_armed *armed, struct task_struct *task)
{
	bool listed;

	spin_lock(&isolator_armed_lock);
	listed = !list_empty(&armed->node);
	if (listed)
		list_del_init(&armed->node);
	spin_unlock(&isolator_armed_lock);
	return listed || task_work_cancel(task, &armed->work);
}

/* May the current task start and stop @task's isolation? */
static struct task_struct *isolator_other(const struct isolator_task_args *args)
{
	struct task_struct *task;

	if (!capable(CAP_SYS_NICE))
		return ERR_PTR(-EPERM);
	if (!args->tid)
		return get_task_struct(current);
	task = find_get_task_by_vpid(args->tid);
	if (!task)
		return ERR_PTR(-ESRCH);
	if ((task->flags & PF_KTHREAD) ||
	    !ptrace_may_access(task, PTRACE_MODE_ATTACH_REALCREDS)) {
		put_task_struct(task);
		return ERR_PTR(-EPERM);
	}
	return task;
}

/* Waits until @armed is done; the start is taken back on a signal. */
static int isolator_await(struct isolator_armed *armed, struct task_struct *task,
			  struct isolator_task_args *args)
{
	if (wait_for_completion_interruptible(&armed->done)) {
		if (isolator_disarm_task(armed, task)) {
			isolator_armed_put(armed);	/* the task's */
			return -EINTR;
		}
		/* It starts right now, which may sleep, but needs nobody outside. */
		wait_for_completion(&armed->done);
	}
	if (!armed->error)
		args->start = armed->args;
	return armed->error;
}

/**
 * isolator_start_task - ISOLATOR_IOC_START_TASK
 * @args: see struct isolator_task_args
 *
 * Returns 0; what isolator_begin() returns, at once for its arguments and, if
 * waited for, from the start itself; -EPERM without CAP_SYS_NICE or ptrace access,
 * and for a kernel thread; -ESRCH if there is no such task, or it exits;
 * -EALREADY if it is armed for its exec already; -EDEADLK to wait for oneself;
 * -EINTR.  Context: process, may sleep.
 */
int isolator_start_task(struct isolator_task_args *args)
{
	struct isolator_armed *armed;
	struct task_struct *task;
	int ret;

	if (args->size != sizeof(*args) || args->reserved ||
	    args->flags & ~(ISOLATOR_TASK_EXEC | ISOLATOR_TASK_WAIT))
		return -EINVAL;
	task = isolator_other(args);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = -EDEADLK;
	if (task == current && (args->flags & ISOLATOR_TASK_WAIT))
		goto put;
	ret = -ENOMEM;
	armed = kzalloc(sizeof(*armed), GFP_KERNEL);
	if (!armed)
		goto put;
	refcount_set(&armed->refs, 2);
	INIT_LIST_HEAD(&armed->node);
	init_task_work(&armed->work, isolator_armed_start);
	init_completion(&armed->done);
	armed->task = task;
	armed->asked = args->start;
	armed->args = args->start;
	ret = isolator_check_args(&armed->args);
	if (!ret)
		ret = args->flags & ISOLATOR_TASK_EXEC ? isolator_arm(armed, task) :
			task_work_add(task, &armed->work, TWA_RESUME);
	if (ret)
		isolator_armed_put(armed);	/* the task's: it never saw it */
	else if (args->flags & ISOLATOR_TASK_WAIT)
		ret = isolator_await(armed, task, args);
	isolator_armed_put(armed);
put:
	put_task_struct(task);
	return ret;
}

/**
 * isolator_stop_task - ISOLATOR_IOC_STOP_TASK: end another task's isolation
 * @args: see struct isolator_task_args
 *
 * However often it was started; what is armed for its exec is taken back, too.
 * Returns 0, -EINVAL, -EPERM, -ESRCH if it has none.  Context: process, may sleep.
 */
int isolator_stop_task(const struct isolator_task_args *args)
{
	struct isolator_armed *armed;
	struct task_struct *task;
	int ret = -ESRCH;

	if (args->size != sizeof(*args) || args->flags || args->reserved)
		return -EINVAL;
	task = isolator_other(args);
	if (IS_ERR(task))
		return PTR_ERR(task);
	armed = isolator_armed_take(task);
	if (armed) {
		isolator_armed_done(armed, -ECANCELED);
		ret = 0;
	}
	if (isolator_end_task(task, ISOLATOR_END_ADMIN))
		ret = 0;
	put_task_struct(task);
	return ret;
}
