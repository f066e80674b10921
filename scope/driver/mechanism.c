// SPDX-License-Identifier: GPL-2.0-or-later
/* The mechanisms: how each is set off, and that it answers for all that it was set off for. */
#include <linux/kthread.h>
#include <linux/ktime.h>

#include "scope.h"

#define BUDGET 64	/* answers of one run of the softirq */

static bool queue_put(struct scope_mechanism *m, u32 sequence)
{
	/* Pairs with the release in scope_queue_take(): the place was read before it is reused. */
	if (m->head - smp_load_acquire(&m->tail) == SCOPE_QUEUE)
		return false;
	m->queue[m->head % SCOPE_QUEUE] = sequence;
	/* Pairs with the acquire in scope_queue_any(): the place is whole before it is seen. */
	smp_store_release(&m->head, m->head + 1);
	return true;
}

bool scope_queue_any(const struct scope_mechanism *m)
{
	/* Pairs with the release in queue_put(). Also asked by those who do not take. */
	return smp_load_acquire(&m->head) != READ_ONCE(m->tail);
}

bool scope_queue_take(struct scope_mechanism *m, u32 *sequence)
{
	if (!scope_queue_any(m))
		return false;
	*sequence = m->queue[m->tail % SCOPE_QUEUE];
	/* Pairs with the acquire in queue_put(). */
	smp_store_release(&m->tail, m->tail + 1);
	return true;
}

/* By the clock: what interrupts it meanwhile adds nothing to what was planted. */
static void delay(unsigned int us)
{
	u64 until;

	if (!us)
		return;
	until = ktime_get_ns() + (u64)us * NSEC_PER_USEC;
	while (ktime_get_ns() < until)
		cpu_relax();
}

/* Of one mechanism one at a time: its line has no other writer. */
void scope_answer(struct scope_mechanism *m, u32 sequence)
{
	int line = READ_ONCE(m->line);

	delay(READ_ONCE(m->delay_us));
	if (line < 0)
		return;
	m->scope->backend->answer(m->scope, line, sequence);
	WRITE_ONCE(m->answered, m->answered + 1);
}

void scope_drain(struct scope_mechanism *m)
{
	u32 sequence;

	while (scope_queue_take(m, &sequence))
		scope_answer(m, sequence);
}

irqreturn_t scope_trigger(struct scope *scope, u32 sequence)
{
	struct scope_mechanism *m = scope->mechanism;

	if (READ_ONCE(m[SCOPE_IRQ].line) >= 0)
		scope_answer(&m[SCOPE_IRQ], sequence);
	for (int i = SCOPE_IRQ + 1; i < SCOPE_MECHANISMS; i++) {
		/* Pairs with the release in scope_mechanism_map(): it is ready. */
		if (smp_load_acquire(&m[i].line) < 0 || !m[i].ops->kick)
			continue;
		if (queue_put(&m[i], sequence))
			m[i].ops->kick(&m[i]);
		else
			WRITE_ONCE(m[i].overrun, m[i].overrun + 1);
	}
	return READ_ONCE(m[SCOPE_IRQ_THREAD].line) >= 0 ? IRQ_WAKE_THREAD : IRQ_HANDLED;
}

/* What the handler returns wakes it. */
static void thread_kick(struct scope_mechanism *m)
{
}

/* At most one run of the thread is under way, and none is set off: the line is -1. */
static void thread_stop(struct scope_mechanism *m)
{
	synchronize_irq(m->scope->irq);
}

#if IS_ENABLED(CONFIG_IRQ_POLL)
static int softirq_run(struct irq_poll *poll, int budget)
{
	struct scope_mechanism *m = container_of(poll, struct scope_mechanism, poll);
	int done = 0;
	u32 sequence;

	while (done < budget && scope_queue_take(m, &sequence)) {
		scope_answer(m, sequence);
		done++;
	}
	if (done < budget) {
		irq_poll_complete(poll);
		/*
		 * One that came between the last look and this was not scheduled anew. Pairs
		 * with the order of irq_poll_sched(): either it sees that this has ended, or
		 * what was queued before it is seen here.
		 */
		smp_mb();
		if (scope_queue_any(m))
			irq_poll_sched(poll);
	}
	return done;
}

static int softirq_start(struct scope_mechanism *m)
{
	irq_poll_init(&m->poll, BUDGET, softirq_run);
	return 0;
}

static void softirq_kick(struct scope_mechanism *m)
{
	irq_poll_sched(&m->poll);
}

static void softirq_stop(struct scope_mechanism *m)
{
	irq_poll_disable(&m->poll);
}
#else
/* The only softirq that a module may use. */
static int softirq_start(struct scope_mechanism *m)
{
	return -EOPNOTSUPP;
}

static void softirq_kick(struct scope_mechanism *m)
{
}

static void softirq_stop(struct scope_mechanism *m)
{
}
#endif

static void tasklet_run(struct tasklet_struct *tasklet)
{
	scope_drain(container_of(tasklet, struct scope_mechanism, tasklet));
}

static int tasklet_start(struct scope_mechanism *m)
{
	tasklet_setup(&m->tasklet, tasklet_run);
	return 0;
}

static void tasklet_kick(struct scope_mechanism *m)
{
	tasklet_schedule(&m->tasklet);
}

static void tasklet_stop(struct scope_mechanism *m)
{
	tasklet_kill(&m->tasklet);
}

static void work_run(struct work_struct *work)
{
	scope_drain(container_of(work, struct scope_mechanism, work));
}

static int work_start(struct scope_mechanism *m)
{
	INIT_WORK(&m->work, work_run);
	return 0;
}

static void work_stop(struct scope_mechanism *m)
{
	cancel_work_sync(&m->work);
}

static void bh_work_kick(struct scope_mechanism *m)
{
	queue_work(system_bh_wq, &m->work);
}

static void work_kick(struct scope_mechanism *m)
{
	queue_work(system_wq, &m->work);
}

static void work_unbound_kick(struct scope_mechanism *m)
{
	queue_work(system_unbound_wq, &m->work);
}

static void work_high_kick(struct scope_mechanism *m)
{
	queue_work(system_highpri_wq, &m->work);
}

static int kthread_run_mechanism(void *data)
{
	struct scope_mechanism *m = data;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (!scope_queue_any(m))
			schedule();
		__set_current_state(TASK_RUNNING);
		scope_drain(m);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int kthread_start(struct scope_mechanism *m)
{
	struct task_struct *thread = kthread_create(kthread_run_mechanism, m, "isolator_scope");

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	sched_set_fifo(thread);
	m->thread = thread;
	wake_up_process(thread);
	return 0;
}

static void kthread_kick(struct scope_mechanism *m)
{
	wake_up_process(m->thread);
}

static void kthread_stop_mechanism(struct scope_mechanism *m)
{
	kthread_stop(m->thread);
}

static int user_start(struct scope_mechanism *m)
{
	init_swait_queue_head(&m->wait);
	return 0;
}

/* One reader waits there; simple wait queues may be woken from a hard interrupt also on RT. */
static void user_kick(struct scope_mechanism *m)
{
	swake_up_one(&m->wait);
}

const struct scope_mechanism_ops scope_mechanism_ops[SCOPE_MECHANISMS] = {
	[SCOPE_IRQ] = { .name = "irq" },
	[SCOPE_IRQ_THREAD] = { "irq-thread", NULL, thread_kick, thread_stop },
	[SCOPE_SOFTIRQ] = { "softirq", softirq_start, softirq_kick, softirq_stop },
	[SCOPE_TASKLET] = { "tasklet", tasklet_start, tasklet_kick, tasklet_stop },
	[SCOPE_BH_WORK] = { "bh-work", work_start, bh_work_kick, work_stop },
	[SCOPE_WORK] = { "work", work_start, work_kick, work_stop },
	[SCOPE_WORK_UNBOUND] = { "work-unbound", work_start, work_unbound_kick, work_stop },
	[SCOPE_WORK_HIGH] = { "work-high", work_start, work_high_kick, work_stop },
	[SCOPE_KTHREAD] = { "kthread", kthread_start, kthread_kick, kthread_stop_mechanism },
	[SCOPE_USER] = { "user", user_start, user_kick, NULL },
	[SCOPE_POLL] = { .name = "poll" },
	[SCOPE_KERNEL_POLL] = { "kernel-poll", scope_quiet_start, NULL, scope_quiet_stop },
};

void scope_mechanisms_init(struct scope *scope)
{
	for (int i = 0; i < SCOPE_MECHANISMS; i++) {
		scope->mechanism[i].ops = &scope_mechanism_ops[i];
		scope->mechanism[i].scope = scope;
		scope->mechanism[i].line = -1;
	}
	/* Readers wait there whether it has a line or not. */
	user_start(&scope->mechanism[SCOPE_USER]);
}

/*
 * Between two lines it has none: the interrupt that sees that sets it off no more, and what
 * was set off has ended. Triggers of that time are missing.
 */
int scope_mechanism_map(struct scope_mechanism *m, int line)
{
	struct scope *scope = m->scope;
	int old = m->line, error;

	lockdep_assert_held(&scope->lock);
	if (line == old)
		return 0;
	/* Who polls does so in memory. */
	if (line >= 0 && !scope->backend->memory &&
	    (m == &scope->mechanism[SCOPE_POLL] || m == &scope->mechanism[SCOPE_KERNEL_POLL]))
		return -EOPNOTSUPP;
	for (int i = 0; line >= 0 && i < SCOPE_MECHANISMS; i++)
		if (scope->mechanism[i].line == line)
			return -EADDRINUSE;
	if (old >= 0) {
		WRITE_ONCE(m->line, -1);
		if (scope->irq >= 0)
			synchronize_irq(scope->irq);
		if (m->ops->stop)
			m->ops->stop(m);
		if (scope->backend->offer)
			scope->backend->offer(scope, old, NULL);
		/* Nobody puts or takes any more. */
		WRITE_ONCE(m->tail, m->head);
	}
	if (line < 0)
		return 0;
	error = m->ops->start && m != &scope->mechanism[SCOPE_USER] ? m->ops->start(m) : 0;
	if (error)
		return error;
	if (scope->backend->offer)
		scope->backend->offer(scope, line, m->ops->name);
	/* Pairs with the acquire in scope_trigger(): what start() made is seen with the line. */
	smp_store_release(&m->line, line);
	return 0;
}
