// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mechanism "kernel-poll": a thread isolates its CPU and looks at the trigger itself, in a
 * quiet section. No interrupt takes part, and nothing is woken up.
 *
 * The section reads the trigger and writes its own line, in memory that stays mapped until
 * scope_destroy() has stopped the thread, and the mechanism, which does, too. It calls nothing
 * (tools/quiet-check). A delay that is planted takes the clock: such an answer is given outside.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "scope.h"

#if IS_ENABLED(CONFIG_ISOLATOR)
#include <linux/isolator_caller.h>

static int poll_cpu = -1;
module_param(poll_cpu, int, 0444);
MODULE_PARM_DESC(poll_cpu, "the CPU that kernel-poll isolates and fills; -1: it answers on no line");

static unsigned int poll_bound_us = 10000;
module_param(poll_bound_us, uint, 0444);
MODULE_PARM_DESC(poll_bound_us, "what kernel-poll promises: a tick that is due is made so soon");

struct scope_quiet {
	struct scope_mechanism *m;
	struct task_struct *thread;
	struct completion started;
	int error;
	u32 seen;
};

/* Returns 1 if an answer for @q->seen is left to the caller; else as isolator_quiet_enter(). */
static noinstr int poll_quietly(struct isolator_caller *caller, struct scope_quiet *q,
				const u32 *trigger, struct scope_line *line)
{
	struct scope_mechanism *m = q->m;
	const u32 *due = caller->due;
	int ret;

	ret = isolator_quiet_enter(caller);
	if (ret)
		return ret;
	while (!isolator_quiet_due(due)) {
		/* Pairs with the generator's release: what it wrote before is seen. */
		u32 now = smp_load_acquire(trigger);

		if (now == q->seen || !now) {
			cpu_relax();
			continue;
		}
		q->seen = now;
		if (READ_ONCE(m->delay_us)) {
			ret = 1;
			break;
		}
		scope_line_answer(line, now);
		WRITE_ONCE(m->answered, m->answered + 1);
	}
	isolator_quiet_leave(caller);
	return ret;
}

static int poll_round(struct isolator_caller *caller, struct scope_quiet *q)
{
	struct scope_lines *lines = q->m->scope->backend->mapped(q->m->scope);
	int ret, line = READ_ONCE(q->m->line);

	if (line < 0) {
		/* Not yet, or no longer. */
		schedule_timeout_interruptible(1);
		return 0;
	}
	ret = poll_quietly(caller, q, &lines->trigger, &lines->line[line]);
	if (ret == 1)
		scope_answer(q->m, q->seen);
	return ret < 0 ? ret : isolator_kernel_tick(caller);
}

static int poll_thread(void *data)
{
	struct isolator_caller caller;
	struct scope_quiet *q = data;
	int ret;

	ret = isolator_kernel_start(&caller, (u64)poll_bound_us * NSEC_PER_USEC);
	q->error = ret;
	complete(&q->started);
	while (!ret && !kthread_should_stop())
		ret = poll_round(&caller, q);
	if (!q->error) {
		isolator_kernel_stop(&caller);
		if (ret && !kthread_should_stop())
			dev_warn(q->m->scope->dev,
				 "the isolation of CPU %d was ended (%d): kernel-poll answers again when it gets a line\n",
				 poll_cpu, ret);
	}
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

int scope_quiet_start(struct scope_mechanism *m)
{
	struct device *dev = m->scope->dev;
	struct scope_quiet *q;
	int error;

	if (poll_cpu < 0)
		return -EOPNOTSUPP;
	if (poll_cpu >= nr_cpu_ids || !cpu_online(poll_cpu)) {
		dev_err(dev, "poll_cpu=%d is not an online CPU: kernel-poll answers on no line\n",
			poll_cpu);
		return -EOPNOTSUPP;
	}
	q = kzalloc(sizeof(*q), GFP_KERNEL);
	if (!q)
		return -ENOMEM;
	q->m = m;
	init_completion(&q->started);
	/* What was triggered before is none of its. */
	q->seen = READ_ONCE(m->scope->backend->mapped(m->scope)->trigger);
	q->thread = kthread_run_on_cpu(poll_thread, q, poll_cpu, "scope_poll/%u");
	if (IS_ERR(q->thread)) {
		error = PTR_ERR(q->thread);
		kfree(q);
		return error;
	}
	m->quiet = q;
	wait_for_completion(&q->started);
	if (!q->error)
		return 0;
	dev_err(dev, "CPU %d cannot be isolated (%d): kernel-poll answers on no line; see poll_cpu in /proc/isolator/cpus, poll_bound_us in limits\n",
		poll_cpu, q->error);
	scope_quiet_stop(m);
	return -EOPNOTSUPP;
}

void scope_quiet_stop(struct scope_mechanism *m)
{
	kthread_stop(m->quiet->thread);
	kfree(m->quiet);
}
#else
int scope_quiet_start(struct scope_mechanism *m)
{
	return -EOPNOTSUPP;
}

void scope_quiet_stop(struct scope_mechanism *m)
{
}
#endif
