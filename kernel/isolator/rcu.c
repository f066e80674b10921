// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: RCU callbacks queued on an isolated CPU go to another one at once.
 *
 * A callback in the CPU's own list would make RCU ask the CPU for quiescent
 * states and run the callback there, at the next tick.  A CPU cannot be made
 * callback-offloaded while it is online.  So call_rcu() pushes the callback on
 * one lock-free list, and a work item on another CPU passes it on.
 *
 *	call_rcu() on the isolated CPU		reap(), elsewhere
 *	  llist_add(cb)				  reaper = current
 *	  was empty: kick			  list = llist_del_all()
 *						  call_rcu() for each
 *						  reaper = NULL (release)
 *
 * The grace period of the callback begins later than without us, never
 * earlier: a callback may always run later.
 */
#include <linux/irq_work.h>
#include <linux/isolator.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

/* On since the first start; then rcu_barrier() has to look at the list. */
DEFINE_STATIC_KEY_FALSE(isolator_rcu_key);

static LLIST_HEAD(queued);
static bool ready;
static struct task_struct *reaper;
static struct workqueue_struct *reap_wq;

static void reap(struct work_struct *work)
{
	struct llist_node *node, *next;

	/*
	 * Before the list is emptied, see isolator_rcu_flush().  It also lets
	 * our own call_rcu() through, should this run on an isolated CPU.
	 */
	WRITE_ONCE(reaper, current);
	node = llist_del_all(&queued);		/* full barrier */
	node = llist_reverse_order(node);	/* each CPU's own order */
	llist_for_each_safe(node, next, node) {
		struct rcu_head *head = (struct rcu_head *)node;

		/* Not lazily: whether the caller hurried is not known here. */
		call_rcu_hurry(head, head->func);
		cond_resched();
	}
	/* After the last call_rcu(): pairs with isolator_rcu_flush(). */
	smp_store_release(&reaper, NULL);
}

static DECLARE_WORK(reap_work, reap);

static void kick(struct irq_work *work)
{
	queue_work(reap_wq, &reap_work);
}

/*
 * call_rcu() may be called with any raw lock held, a runqueue's too, so the
 * wake-up is done by an interrupt on the other CPU.
 */
static struct irq_work kick_work = IRQ_WORK_INIT_HARD(kick);

/**
 * isolator_rcu_take - takes a callback that was queued on an isolated CPU
 * @head: what the caller of call_rcu() handed over, in nobody's list yet
 * @func: its callback
 *
 * Safe at that line: @head is the caller's to give away and RCU has not seen
 * it.  llist_add() needs no lock and allocates nothing.  The CPU may stop being
 * isolated right after it was looked at, or the caller may move: the list does
 * not belong to a CPU, so it makes no difference.
 *
 * Context: that of call_rcu(): any but NMI, any lock held.
 * Return: true if taken; false if call_rcu() is to go on with it.
 */
bool isolator_rcu_take(struct rcu_head *head, rcu_callback_t func)
{
	BUILD_BUG_ON(offsetof(struct rcu_head, next) !=
		     offsetof(struct llist_node, next));

	/* Pairs with isolator_rcu_quiesce(): rcu_barrier() looks by now. */
	if (!smp_load_acquire(&ready) || READ_ONCE(reaper) == current ||
	    isolator_fault(ISOLATOR_FAULT_LEAVE_CALLBACK))
		return false;

	head->func = func;
	/* Not empty: somebody kicked and reap() has not taken the list yet. */
	preempt_disable();
	if (llist_add((struct llist_node *)head, &queued))
		irq_work_queue_on(&kick_work, isolator_housekeeping_any(-1));
	preempt_enable();
	return true;
}

/**
 * isolator_rcu_flush - every callback taken so far is with RCU
 *
 * rcu_barrier() waits for all callbacks that were queued before it was called.
 * One that we took before is either still in the list, or a reap() that has
 * set @reaper emptied the list, or that reap() is through.  If we find the list
 * empty, we have seen that llist_del_all(), so the read of @reaper below (after
 * the barrier) sees it set, or cleared after the last call_rcu().  In the first
 * two cases flush_work() waits for a reap() that begins after the callback was
 * added: queue_work() queues a new one if the running one is past its start,
 * and work items do not run twice at a time.
 *
 * So this comes first thing in rcu_barrier(), before it takes the snapshot of
 * the barrier sequence: a barrier of somebody else that began after the
 * snapshot has seen the callback too.
 *
 * Context: process context, may sleep.  reap_wq has a rescuer, and its work
 * waits for nothing.
 */
void isolator_rcu_flush(void)
{
	if (llist_empty(&queued)) {
		smp_mb();	/* the list, then the reaper */
		/* Pairs with reap(): all it took is with RCU. */
		if (!smp_load_acquire(&reaper))
			return;
	}
	queue_work(reap_wq, &reap_work);
	flush_work(&reap_work);
}

/**
 * isolator_rcu_quiesce - leaves no callback on this CPU
 *
 * Pre: this CPU is in isolator_cpumask and the static key is on, so new callbacks
 * are taken.  The CPU still takes interrupts.
 * Post: the callbacks that were on this CPU have run.  A task that was
 * preempted in the middle of call_rcu() can still leave one; then it runs at a
 * tick: late, not lost.  The caller checks with rcu_local_callbacks().
 *
 * Context: process context, may sleep; waits for a grace period.
 */
void isolator_rcu_quiesce(void)
{
	static_branch_enable(&isolator_rcu_key);
	/* After the branches; the key itself is set before they are. */
	smp_store_release(&ready, true);
	rcu_barrier();
}

static int __init isolator_rcu_init(void)
{
	reap_wq = alloc_workqueue("isolator_rcu", WQ_UNBOUND | WQ_MEM_RECLAIM, 1);
	return reap_wq ? 0 : -ENOMEM;
}

/* Before anybody can start; a machine that fails here does not boot anyway. */
core_initcall(isolator_rcu_init);
