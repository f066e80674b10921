/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Isolator: hooks for the rest of the kernel.
 *
 * Everything here costs a patched-out jump while no CPU is isolated.
 *
 * The protocol, in one place (each site repeats its own half):
 *
 *   sender				target, entering the kernel
 *   ------				---------------------------
 *   interrupts off, senders++
 *   queue / set a work bit		ct->state += ... (atomic, full barrier)
 *   full barrier			read the work bits, do what they say
 *   read the target's ct->state
 *   user: queue, note; else: kick
 *   senders--
 *
 * Store buffering: either the sender sees that the target is in the kernel and
 * sends a real interrupt, or the target sees the work bit.  On the way out
 * the target sets its state to user (atomic, full barrier), waits until no
 * sender is marked, and goes back into the kernel if a work bit is set or an
 * interrupt is still under way: what was sent to a CPU in the kernel is taken in
 * the kernel.  For that a kick is one interrupt at a time: a flag is set before
 * it is sent and cleared when it arrives, and whoever finds it set sends none.
 *
 * What the kernel itself leaves on the CPU (a timer, a batch, a thread that waits)
 * sets another flag where it is left; the return to user mode looks at that only.
 */
#ifndef _LINUX_ISOLATOR_H
#define _LINUX_ISOLATOR_H

#include <linux/isolator_cpu.h>
#include <linux/isolator_fault.h>
#include <linux/types.h>
#include <uapi/linux/isolator.h>

struct cpumask;
struct hrtimer;
struct isolator_rule;
struct linux_binprm;
struct llist_head;
struct llist_node;
struct mm_struct;
struct pt_regs;
struct rq;
struct task_struct;

/**
 * enum isolator_policy - what becomes of a cross-call aimed at a quiet CPU, if it is not queued
 * @ISOLATOR_DEFER_TEXT: done at once, the CPU serialises at kernel entry
 * @ISOLATOR_DEFER_TLB: done at once, the CPU flushes at kernel entry
 * @ISOLATOR_DEFER_USER: of user translations; what they led to waits in the quarantine until
 *	the CPU has flushed at kernel entry, if its task's start asked for that; else it is queued
 * @ISOLATOR_EXCLUDE: means nothing to a CPU in user mode
 */
enum isolator_policy {
	ISOLATOR_DEFER_TEXT,
	ISOLATOR_DEFER_TLB,
	ISOLATOR_DEFER_USER,
	ISOLATOR_EXCLUDE,
};

/* What is counted of a request, per CPU and callback. */
enum isolator_count {
	ISOLATOR_COUNT_DEFERRED,	/* done by the CPU at its next kernel entry */
	ISOLATOR_COUNT_EXCLUDED,
	ISOLATOR_COUNT_QUEUED,
	ISOLATOR_COUNT_MISSED,
	ISOLATOR_COUNT_IMMEDIATE,	/* always delivered at once */
	ISOLATOR_COUNT_REFUSED,
	ISOLATOR_COUNT_PLANNED,		/* delivered in a batch */
	ISOLATOR_COUNTS,
};

#ifdef CONFIG_ISOLATOR

#include <linux/atomic.h>
#include <linux/context_tracking_state.h>
#include <linux/percpu.h>

#include <asm/isolator.h>

/* Bits of isolator_hot.work. */
#define ISOLATOR_WORK_TEXT	BIT(0)	/* serialise before any other text */
#define ISOLATOR_WORK_TLB	BIT(1)	/* flush all kernel translations */
#define ISOLATOR_WORK_DEFERRED	(ISOLATOR_WORK_TEXT | ISOLATOR_WORK_TLB | ISOLATOR_WORK_USER)
#define ISOLATOR_WORK_CALL	BIT(2)	/* call_single_queue was not announced */
#define ISOLATOR_WORK_RESCHED	BIT(3)	/* TIF_NEED_RESCHED was not announced */
#define ISOLATOR_WORK_GATE	BIT(4)	/* the machine is stopped: wait outside */
#define ISOLATOR_WORK_USER	BIT(5)	/* flush all user translations */
#define ISOLATOR_WORK_QUEUED	(ISOLATOR_WORK_CALL | ISOLATOR_WORK_RESCHED)
#define ISOLATOR_WORK_ENTRY	(ISOLATOR_WORK_DEFERRED | ISOLATOR_WORK_GATE)

/**
 * struct isolator_hot - what senders and the entry code look at
 * @work: ISOLATOR_WORK_*, set by senders, cleared by this CPU
 * @senders: how many are between their mark and their decision; each has
 *	interrupts off, so that waiting for them is short
 * @kick: a real interrupt is under way; cleared first thing when it arrives
 * @armed: the task that runs here is the isolated one and has been made quiet;
 *	only this CPU writes it, and only while its state says kernel
 * @left: something may have been left here that would interrupt user mode; set
 *	by whoever leaves it, cleared by this CPU before it looks around
 * @muted: the clock event device was switched off with timers queued
 * @ticks: each kernel entry of the isolated task looks whether a tick is due
 * @pending: deferred work taken from @work and not done yet: an NMI does it too
 * @pass: a machine check enters, which waits at no gate
 * @raised: an interrupt that this CPU sent to itself is under way, and may come late
 * @section: user mode is a quiet section of the kernel's: section.c; only this CPU writes
 *	it, and only while its state says kernel
 * @tracked: the state of this CPU is kept, whatever task runs; only this CPU writes it
 * @flushed: the last removal, by its number, that had been made when this CPU flushed all
 *	user translations
 */
struct isolator_hot {
	atomic_t	work;
	atomic_t	senders;
	atomic_t	kick;
	bool		armed;
	bool		left;
	bool		muted;
	bool		ticks;
	bool		pass;
	bool		raised;
	bool		section;
	bool		tracked;
	int		pending;
	atomic_long_t	flushed;
};

DECLARE_PER_CPU_SHARED_ALIGNED(struct isolator_hot, isolator_hot);

/* Numbers the removals: kernel/isolator/quarantine.c */
extern atomic_long_t isolator_removals;

bool isolator_user(int cpu);
struct task_struct *isolator_owner(int cpu);
bool isolator_is_owner(const struct task_struct *p);
int isolator_housekeeping_any(int near);
void isolator_end_async(int cpu, const struct task_struct *whose, enum isolator_end why);
void isolator_count(int cpu, enum isolator_count what, void *func);

/* Entry and exit: kernel/isolator/entry.c */
void __isolator_run_deferred(void);
void __isolator_user_exit(void);
void isolator_prepare_user(void);
void __isolator_arrived(void);
void __isolator_switch(struct task_struct *prev);

/**
 * isolator_kernel_enter - run what was deferred, right after the state says kernel
 *
 * Called with RCU just watching, before anything that may be patched or
 * unmapped is touched; also from NMI.  The caller's atomic on ct->state is the
 * full barrier that pairs with the one in isolator_avoid_call().
 */
static __always_inline void isolator_kernel_enter(void)
{
	if (isolator_enabled()) {
		struct isolator_hot *hot = raw_cpu_ptr(&isolator_hot);

		if (unlikely((raw_atomic_read(&hot->work) & ISOLATOR_WORK_ENTRY) ||
			     hot->pending))
			__isolator_run_deferred();
		/*
		 * Where text changes without a work bit.  Also entries of a task that is not the
		 * isolated one: RCU-tasks takes the user mode of each task on a CPU whose state
		 * is kept for a quiescent state, and what patches text relies on that.
		 */
		if (ARCH_ISOLATOR_SYNC_ENTRY && hot->tracked &&
		    !isolator_fault(ISOLATOR_FAULT_NO_ENTRY_SYNC))
			arch_isolator_sync_text();
	}
}

/**
 * isolator_gate_pass - a machine check enters; what enters from now on waits at no gate
 * @pass: which
 *
 * All CPUs wait for each other in a machine check, those that are stopped among them.  So it
 * runs while the machine is stopped, as it does on a CPU that is stopped in person.
 * Context: noinstr, before the state says kernel, or after; interrupts off.  Return: what
 * it was before, as one may come on top of another entry.
 */
static __always_inline bool isolator_gate_pass(bool pass)
{
	struct isolator_hot *hot = raw_cpu_ptr(&isolator_hot);
	bool before = hot->pass;

	hot->pass = pass;
	return before;
}

/** isolator_user_exit - take what was queued, in instrumentable entry code */
static __always_inline void isolator_user_exit(void)
{
	if (isolator_enabled()) {
		struct isolator_hot *hot = raw_cpu_ptr(&isolator_hot);

		/*
		 * Who has a mark or a lock that this waits for may be in the machine check
		 * already, and wait for us there.
		 */
		if (unlikely(hot->pass))
			return;
		if (unlikely(hot->pending || hot->muted || hot->ticks ||
			     (raw_atomic_read(&hot->work) & ISOLATOR_WORK_QUEUED)))
			__isolator_user_exit();
	}
}

/**
 * isolator_left - something was left on @cpu that may want it later
 *
 * A timer, a page in a batch, a thread: the next return to user mode looks around.
 * Context: any; any lock.
 */
static __always_inline void isolator_left(int cpu)
{
	if (isolator_cpu(cpu))
		WRITE_ONCE(per_cpu(isolator_hot, cpu).left, true);
}

/**
 * isolator_exit_raced - is this CPU not quiet, or was it sent a request meanwhile?
 *
 * Called with interrupts off, after the state says user, before the return.
 * The atomic on ct->state pairs with the barrier between a sender's mark and
 * its read of the state: a sender that still saw the kernel is waited for here,
 * a later one sees user mode.
 */
static __always_inline bool isolator_exit_raced(void)
{
	struct isolator_hot *hot;

	if (!isolator_enabled())
		return false;
	hot = raw_cpu_ptr(&isolator_hot);
	if (READ_ONCE(hot->left))
		return true;
	if (!hot->armed)
		return false;
	while (raw_atomic_read_acquire(&hot->senders))
		cpu_relax();
	return (raw_atomic_read(&hot->work) & ISOLATOR_WORK_QUEUED) ||
	       raw_atomic_read(&hot->kick) ||
	       (ARCH_ISOLATOR_LATE_SELF && READ_ONCE(hot->raised)) ||
	       arch_isolator_irq_pending();
}

/**
 * isolator_raise_self - must this CPU send the interrupt that it is about to send to itself?
 *
 * Where such a one may come late.  The way to user mode waits until it has come.  As with a
 * kick one is under way at a time: with two, the first to arrive would take the note of the
 * other along.  Return: false: one is under way, and what it finds is done then.
 * Context: interrupts off until it is sent, or that one could arrive in between.
 */
static __always_inline bool isolator_raise_self(void)
{
	/* In one go: an NMI amid it would send one, too. */
	bool raised = isolator_enabled() && this_cpu_xchg(isolator_hot.raised, true);

	/* Of another CPU the note may be of one that was lost as the CPU went offline. */
	return !raised || !isolator_cpu(raw_smp_processor_id());
}

/** isolator_self_arrived - it is here; called before what it is for is looked at */
static __always_inline void isolator_self_arrived(void)
{
	/* The key may have been switched off since. */
	this_cpu_write(isolator_hot.raised, false);
}

/**
 * isolator_arrived - the interrupt that a kick sent is here
 *
 * First thing in the handler, interrupts off: what is queued after the flag was
 * cleared sends anew, what was queued before is found by the handler.
 */
static __always_inline void isolator_arrived(void)
{
	if (isolator_enabled() && atomic_read(this_cpu_ptr(&isolator_hot.kick)))
		__isolator_arrived();
}

/** isolator_switch - @prev was switched out on this CPU; preemption is off */
static __always_inline void isolator_switch(struct task_struct *prev)
{
	if (isolator_enabled())
		__isolator_switch(prev);
}

/* Senders: kernel/isolator/ipi.c */
const struct isolator_rule *__isolator_rule(void *func);
bool __isolator_avoid_call(int cpu, const struct isolator_rule *rule);
bool __isolator_queue(int cpu, struct llist_node *node, struct llist_head *queue);
bool __isolator_queue_call(int cpu, struct llist_node *node, struct llist_head *queue,
			   const struct isolator_rule *rule);
bool __isolator_signal(struct task_struct *p, int cpu);
void isolator_note_immediate(int cpu, void *func);
void isolator_note_device_irq(void *handler);
void isolator_deliver_now(int cpu, void *func);
void __isolator_wait_csd(int cpu, void *func, unsigned int *flags,
			 unsigned int lock);
void __isolator_thread_waits(int cpu, struct task_struct *p);
void __isolator_core_resched(int cpu);

/* kernel/time/hrtimer.c */
void hrtimer_isolator_anywhere(struct hrtimer *timer);

/**
 * isolator_rule - what is to become of a call of @func, looked up once for all CPUs
 *
 * The first isolation may begin after this: its CPU then queues what could be avoided,
 * which is always right.
 */
static __always_inline const struct isolator_rule *isolator_rule(void *func)
{
	return isolator_enabled() ? __isolator_rule(func) : NULL;
}

/** isolator_avoid_call - true: a cross-call to @cpu, of which @rule is, need not be made */
static __always_inline bool isolator_avoid_call(int cpu, const struct isolator_rule *rule)
{
	return rule && isolator_cpu(cpu) && __isolator_avoid_call(cpu, rule);
}

/** isolator_queue_call - as isolator_queue(), of a call whose @rule is known */
static __always_inline bool isolator_queue_call(int cpu, struct llist_node *node,
						struct llist_head *queue,
						const struct isolator_rule *rule)
{
	return isolator_cpu(cpu) && __isolator_queue_call(cpu, node, queue, rule);
}

/** isolator_queue - true: @node was put on @queue, to wait or with an interrupt, or was avoided */
static __always_inline bool isolator_queue(int cpu, struct llist_node *node,
					   struct llist_head *queue)
{
	return isolator_cpu(cpu) && __isolator_queue(cpu, node, queue);
}

/** isolator_signal - true: the signal to running @p was queued or sent */
static __always_inline bool isolator_signal(struct task_struct *p, int cpu)
{
	return isolator_cpu(cpu) && __isolator_signal(p, cpu);
}

/** isolator_wait_csd - wait for a CSD that may be queued on @cpu, at most D_spin */
static __always_inline void isolator_wait_csd(int cpu, void *func,
					      unsigned int *flags,
					      unsigned int lock)
{
	if (isolator_enabled() && (READ_ONCE(*flags) & lock) &&
	    cpu < nr_cpu_ids && isolator_cpu(cpu))
		__isolator_wait_csd(cpu, func, flags, lock);
}

/** isolator_thread_waits - @p became runnable on @cpu; its rq lock is held */
static __always_inline void isolator_thread_waits(int cpu, struct task_struct *p)
{
	if (isolator_cpu(cpu))
		__isolator_thread_waits(cpu, p);
}

/** isolator_core_resched - the task of @cpu is to go, for the sake of a sibling; rq lock held */
static __always_inline void isolator_core_resched(int cpu)
{
	if (isolator_cpu(cpu))
		__isolator_core_resched(cpu);
}

/* The policy table: kernel/isolator/policy.c */
int isolator_set_policy(void *func, enum isolator_policy policy);

/* The end: kernel/isolator/end.c */
void __isolator_task_end(enum isolator_end why);

/* Starts for others: kernel/isolator/arm.c */
void isolator_armed_exec(const struct linux_binprm *bprm);
void isolator_armed_exit(void);

/** isolator_task_exit - the current task exits; process context */
static inline void isolator_task_exit(void)
{
	if (isolator_enabled())
		__isolator_task_end(ISOLATOR_END_EXIT);
}

/**
 * isolator_task_exec - the current task executes another program
 * @bprm: which one
 */
static inline void isolator_task_exec(const struct linux_binprm *bprm)
{
	if (isolator_enabled())
		__isolator_task_end(ISOLATOR_END_EXEC);
	isolator_armed_exec(bprm);
}

void isolator_hotplug_begin(void);
void isolator_hotplug_end(void);
int isolator_cpu_down(unsigned int cpu);

/* A stop of the machine: kernel/isolator/gate.c */
const struct cpumask *isolator_gate_choose(const struct cpumask *all,
					   const struct cpumask *needed, unsigned int try);
bool isolator_gate_close(void);
void isolator_gate_open(void);
void isolator_gate_count(void *func);

/* For the time code: kernel/isolator/entry.c */
int isolator_timekeeper(void);

/**
 * isolator_remote - the CPU that does what was meant for @cpu
 *
 * Itself, or one that is not isolated: for work that any CPU can do.
 * Context: any; only a snapshot.
 */
static __always_inline int isolator_remote(int cpu)
{
	if (!isolator_cpu(cpu) || isolator_fault(ISOLATOR_FAULT_KEEP_REMOTE))
		return cpu;
	return isolator_housekeeping_any(cpu);
}

#else /* !CONFIG_ISOLATOR */

static inline bool isolator_user(int cpu) { return false; }
static inline struct task_struct *isolator_owner(int cpu) { return NULL; }
static inline bool isolator_is_owner(const struct task_struct *p) { return false; }
static inline int isolator_housekeeping_any(int near) { return near; }
static inline int isolator_remote(int cpu) { return cpu; }
static inline void isolator_end_async(int cpu, const struct task_struct *whose,
				      enum isolator_end why) { }
static inline void isolator_count(int cpu, enum isolator_count what, void *func) { }
static __always_inline void isolator_kernel_enter(void) { }
static __always_inline void isolator_user_exit(void) { }
static inline void isolator_left(int cpu) { }
static inline void isolator_prepare_user(void) { }
static __always_inline bool isolator_exit_raced(void) { return false; }
static inline bool isolator_raise_self(void) { return true; }
static inline void isolator_self_arrived(void) { }
static inline void isolator_arrived(void) { }
static inline void isolator_switch(struct task_struct *prev) { }
static inline const struct isolator_rule *isolator_rule(void *func) { return NULL; }
static inline bool isolator_avoid_call(int cpu, const struct isolator_rule *rule)
{
	return false;
}

static inline bool isolator_queue_call(int cpu, struct llist_node *node,
				       struct llist_head *queue,
				       const struct isolator_rule *rule)
{
	return false;
}

static inline bool isolator_queue(int cpu, struct llist_node *node,
				  struct llist_head *queue) { return false; }
static inline bool isolator_signal(struct task_struct *p, int cpu) { return false; }
static inline void isolator_note_immediate(int cpu, void *func) { }
static inline void isolator_note_device_irq(void *handler) { }
static inline void isolator_deliver_now(int cpu, void *func) { }
static inline void isolator_wait_csd(int cpu, void *func, unsigned int *flags,
				     unsigned int lock) { }
static inline void isolator_thread_waits(int cpu, struct task_struct *p) { }
static inline void isolator_core_resched(int cpu) { }
static inline void hrtimer_isolator_anywhere(struct hrtimer *timer) { }
static inline int isolator_set_policy(void *func, enum isolator_policy policy)
{
	return 0;
}

static inline void isolator_task_exit(void) { }
static inline void isolator_armed_exit(void) { }
static inline void isolator_task_exec(const struct linux_binprm *bprm) { }
static inline void isolator_hotplug_begin(void) { }
static inline void isolator_hotplug_end(void) { }
static inline int isolator_cpu_down(unsigned int cpu) { return 0; }
static inline const struct cpumask *isolator_gate_choose(const struct cpumask *all,
							 const struct cpumask *needed,
							 unsigned int try)
{
	return all;
}

static inline bool isolator_gate_close(void) { return true; }
static inline void isolator_gate_open(void) { }
static inline void isolator_gate_count(void *func) { }
static __always_inline bool isolator_gate_pass(bool pass) { return false; }
static inline int isolator_timekeeper(void) { return -1; }

#endif /* CONFIG_ISOLATOR */

#include <linux/isolator_quiet.h>

#endif /* _LINUX_ISOLATOR_H */
