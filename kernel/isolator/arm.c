// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: starts that one task asks for another, now or at its next exec.  The
 * other task starts itself on its way to user mode: a start acts on current only.
 *
 * Who asks has the right to; who starts need not have it.
 */
#include <linux/binfmts.h>
#include <linux/capability.h>
#include <linux/completion.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/isolator.h>
#include <linux/ptrace.h>
#include <linux/refcount.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>

#include "internal.h"

/**
 * struct isolator_armed - a start that waits for its task
 * @refs: the task's side holds one until @done, whoever asks holds another
 * @node: in isolator_armed_tasks until it is through or is taken back
 * @work: on the task's list at once, or from its exec on
 * @queued: it is there, or runs
 * @cancelled: taken back while it ran: it ends what it has started
 * @task: whose; only to compare with
 * @asked: the arguments as given
 * @locks: who asked may lock memory without limit
 * @traces: who asked may trace any task: a program with more rights is started, too
 * @program: the task's self_exec_id, of the program that who asked had access to, or of one that
 *	it executed without getting rights
 * @args: with the defaults; once @done what is in force, unless @error says why not
 * @error: 0 or negative
 * @done: it has started, or cannot
 */
struct isolator_armed {
	refcount_t			refs;
	struct hlist_node		node;
	struct callback_head		work;
	bool				queued;
	bool				cancelled;
	const struct task_struct	*task;
	struct isolator_start_args	asked;
	bool				locks;
	bool				traces;
	u64				program;
	struct isolator_start_args	args;
	int				error;
	struct completion		done;
};

/*
 * The starts that wait, one a task at most, found by their task: each exec and exit
 * of any task looks here, at one bucket, and takes the lock only if that has any.
 */
static DEFINE_SPINLOCK(isolator_armed_lock);
static DEFINE_HASHTABLE(isolator_armed_tasks, 10);

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

/* Had who asked access to the current task's program, or one that it came from?  0 or an error. */
static int isolator_armed_check(const struct isolator_armed *armed)
{
	return armed->traces || armed->program == current->self_exec_id ? 0 : -ECANCELED;
}

/* On the task's way to user mode, or on that to its end. */
static void isolator_armed_start(struct callback_head *work)
{
	struct isolator_armed *armed = container_of(work, struct isolator_armed, work);
	int ret = -ESRCH;

	if (!(current->flags & PF_EXITING))
		ret = isolator_armed_check(armed) ?:
		      isolator_begin_admitted(&armed->args, &armed->asked, armed->locks);
	/* Who takes it back finds it here until it has started, and from then on an owner. */
	spin_lock(&isolator_armed_lock);
	hash_del(&armed->node);
	spin_unlock(&isolator_armed_lock);
	if (!ret && armed->cancelled) {
		__isolator_task_end(ISOLATOR_END_ADMIN);
		ret = -ECANCELED;
	}
	isolator_armed_done(armed, ret);
}

/* The one that waits for @task; NULL for none.  isolator_armed_lock held. */
static struct isolator_armed *isolator_armed_of(const struct task_struct *task)
{
	struct isolator_armed *armed;

	hash_for_each_possible(isolator_armed_tasks, armed, node, (unsigned long)task) {
		if (armed->task == task)
			return armed;
	}
	return NULL;
}

/* Whether none waits for the current task, mostly; only that one of its own is seen is sure. */
static bool isolator_unarmed(void)
{
	return hlist_empty(&isolator_armed_tasks[hash_min((unsigned long)current,
					HASH_BITS(isolator_armed_tasks))]);
}

/*
 * What waits for @task and has not begun, off the books now; NULL for none, or if
 * @mine is given and it is another one.
 */
static struct isolator_armed *isolator_armed_take(struct task_struct *task,
						  const struct isolator_armed *mine)
{
	struct isolator_armed *armed;

	spin_lock(&isolator_armed_lock);
	armed = isolator_armed_of(task);
	if (armed && ((mine && armed != mine) ||
		      (armed->queued && !task_work_cancel(task, &armed->work))))
		armed = NULL;
	if (armed)
		hash_del(&armed->node);
	spin_unlock(&isolator_armed_lock);
	return armed;
}

/* Takes back what waits for @task or runs by now; false if nothing does. */
static bool isolator_armed_cancel(struct task_struct *task)
{
	struct isolator_armed *armed = isolator_armed_take(task, NULL);

	if (armed) {
		isolator_armed_done(armed, -ECANCELED);
		return true;
	}
	spin_lock(&isolator_armed_lock);
	armed = isolator_armed_of(task);
	if (armed)
		armed->cancelled = true;
	spin_unlock(&isolator_armed_lock);
	return armed;
}

/* On @task's list; isolator_armed_lock held.  Returns 0, or -ESRCH if it exits. */
static int isolator_armed_queue(struct isolator_armed *armed, struct task_struct *task)
{
	armed->queued = true;
	return task_work_add(task, &armed->work, TWA_RESUME);
}

/* Does the current task get rights by this exec? */
static bool isolator_gains(const struct linux_binprm *bprm)
{
	return bprm->secureexec ||
	       !cap_issubset(bprm->cred->cap_permitted, current_cred()->cap_permitted);
}

/* May what waits for the current task start with its next program?  Returns 0 or an error. */
static int isolator_armed_next(struct isolator_armed *armed, const struct linux_binprm *bprm)
{
	int ret = isolator_armed_check(armed);

	if (ret)
		return ret;
	if (!armed->traces && isolator_gains(bprm))
		return -EPERM;
	armed->program++;
	return armed->queued ? 0 : isolator_armed_queue(armed, current);
}

/**
 * isolator_armed_exec - the current task executes another program
 * @bprm: with the rights that it will have
 *
 * Called before its own rights and self_exec_id are those of the program.
 */
void isolator_armed_exec(const struct linux_binprm *bprm)
{
	struct isolator_armed *armed;
	int ret = 0;

	if (isolator_unarmed())
		return;
	spin_lock(&isolator_armed_lock);
	armed = isolator_armed_of(current);
	if (armed)
		ret = isolator_armed_next(armed, bprm);
	if (ret) {
		hash_del(&armed->node);
		/* Ours, so it does not run. */
		task_work_cancel(current, &armed->work);
	}
	spin_unlock(&isolator_armed_lock);
	if (ret)
		isolator_armed_done(armed, ret);
}

/**
 * isolator_armed_exit - the current task exits: what was armed for it goes
 *
 * Called with PF_EXITING set.
 */
void isolator_armed_exit(void)
{
	struct isolator_armed *armed;

	/* The flag, then the bucket; isolator_arm() has it the other way round. */
	smp_mb();
	if (isolator_unarmed())
		return;
	armed = isolator_armed_take(current, NULL);
	if (armed)
		isolator_armed_done(armed, -ESRCH);
}

/* Onto the books: -EALREADY if one waits for @task already, -ESRCH if that exits. */
static int isolator_arm(struct isolator_armed *armed, struct task_struct *task, bool exec)
{
	int ret = 0;

	spin_lock(&isolator_armed_lock);
	if (isolator_armed_of(task)) {
		ret = -EALREADY;
	} else {
		hash_add(isolator_armed_tasks, &armed->node, (unsigned long)task);
		smp_mb(); /* the bucket, then the flag: see isolator_armed_exit() */
		if (READ_ONCE(task->flags) & PF_EXITING)
			ret = -ESRCH;
		else if (!exec)
			ret = isolator_armed_queue(armed, task);
		if (ret)
			hash_del(&armed->node);
	}
	spin_unlock(&isolator_armed_lock);
	return ret;
}

/*
 * May the current task start and stop the isolation of @args' task?  Then that, with a
 * reference; @program, its self_exec_id, is of the program that it has access to.
 */
static struct task_struct *isolator_other(const struct isolator_task_args *args, u64 *program)
{
	struct rw_semaphore *exec;
	struct task_struct *task;
	int ret = 0;

	if (!capable(CAP_SYS_NICE))
		return ERR_PTR(-EPERM);
	*program = current->self_exec_id;
	if (!args->tid)
		return get_task_struct(current);
	task = find_get_task_by_vpid(args->tid);
	if (!task)
		return ERR_PTR(-ESRCH);
	/* An exec changes both, the number and the rights, or neither. */
	exec = &task->signal->exec_update_lock;
	/* Neither has a user mode. */
	if (task->flags & (PF_KTHREAD | PF_USER_WORKER))
		ret = -EPERM;
	else
		ret = down_read_killable(exec);
	if (!ret) {
		*program = READ_ONCE(task->self_exec_id);
		if (!ptrace_may_access(task, PTRACE_MODE_ATTACH_REALCREDS))
			ret = -EPERM;
		up_read(exec);
	}
	if (!ret)
		return task;
	put_task_struct(task);
	return ERR_PTR(ret);
}

/* Waits until @armed is done; the start is taken back on a signal. */
static int isolator_await(struct isolator_armed *armed, struct task_struct *task,
			  struct isolator_task_args *args)
{
	if (wait_for_completion_interruptible(&armed->done)) {
		if (isolator_armed_take(task, armed)) {
			isolator_armed_put(armed);	/* the task's */
			return -EINTR;
		}
		/* It starts right now, and may need who waits here, for a page of its own. */
		if (wait_for_completion_killable(&armed->done))
			return -EINTR;
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
 * and for a thread of the kernel; -ESRCH if there is no such task, or it exits;
 * -EALREADY if one waits for it already; -EDEADLK to wait for oneself; -EDQUOT;
 * -EINTR.  If waited for, too: -ECANCELED if it is taken back; and, unless who asked may trace
 * any task, if it was asked for amid an exec, and -EPERM if an exec gives the task rights first.
 * Context: process, may sleep.
 */
int isolator_start_task(struct isolator_task_args *args)
{
	struct isolator_armed *armed;
	struct task_struct *task;
	u64 program;
	int ret;

	if (args->size != sizeof(*args) || args->reserved ||
	    args->flags & ~(ISOLATOR_TASK_EXEC | ISOLATOR_TASK_WAIT))
		return -EINVAL;
	task = isolator_other(args, &program);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = -EDEADLK;
	if (task == current && (args->flags & ISOLATOR_TASK_WAIT))
		goto put;
	ret = -ENOMEM;
	armed = kzalloc(sizeof(*armed), GFP_KERNEL_ACCOUNT);
	if (!armed)
		goto put;
	refcount_set(&armed->refs, 2);
	init_task_work(&armed->work, isolator_armed_start);
	init_completion(&armed->done);
	armed->asked = args->start;
	armed->locks = isolator_may_lock();
	armed->traces = has_capability_noaudit(current, CAP_SYS_PTRACE);
	armed->program = program;
	armed->task = task;
	armed->args = args->start;
	ret = isolator_check_args(&armed->args);
	if (!ret)
		ret = isolator_arm(armed, task, args->flags & ISOLATOR_TASK_EXEC);
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
 * However often it was started; a start that waits for it, or has begun for it, is taken
 * back, too.
 * Returns 0, -EINVAL, -EPERM, -ESRCH if it has none.  Context: process, may sleep.
 */
int isolator_stop_task(const struct isolator_task_args *args)
{
	struct task_struct *task;
	int ret = -ESRCH;
	u64 program;

	if (args->size != sizeof(*args) || args->flags || args->reserved)
		return -EINVAL;
	task = isolator_other(args, &program);
	if (IS_ERR(task))
		return PTR_ERR(task);
	if (isolator_armed_cancel(task))
		ret = 0;
	if (isolator_end_task(task, ISOLATOR_END_ADMIN))
		ret = 0;
	put_task_struct(task);
	return ret;
}
