/* SPDX-License-Identifier: GPL-2.0-only */
/* Isolator: what its own files share. */
#ifndef _ISOLATOR_INTERNAL_H
#define _ISOLATOR_INTERNAL_H

#include <linux/isolator.h>
#include <linux/isolator_parts.h>
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

struct file;
struct seq_file;

#define ISOLATOR_DELIVERIES	32	/* remembered per CPU */
#define ISOLATOR_CALLBACKS	64	/* counted apart, per CPU */
#define ISOLATOR_SENDERS	1024	/* counted apart, per isolated CPU */
#define ISOLATOR_STACK		16	/* frames of a waiting sender */
#define ISOLATOR_RULES		16	/* callbacks that need not be held */

/* The function of an entry whose module went; its name and counts stay. */
#define ISOLATOR_FUNC_GONE	((void *)1)

#define ISOLATOR_DEADLINE_DEFAULT	((u64)NSEC_PER_SEC)
#define ISOLATOR_DEADLINE_MAX		((u64)3600 * NSEC_PER_SEC)
#define ISOLATOR_SPIN_DEFAULT		((u64)100 * NSEC_PER_MSEC)
#define ISOLATOR_SPIN_MAX		((u64)NSEC_PER_SEC)
#define ISOLATOR_YIELD_DEFAULT		(500 * NSEC_PER_USEC)
/* At start and in a batch: until the threads are through, or this. */
#define ISOLATOR_YIELD_REQUIRED	((u64)(10 * NSEC_PER_MSEC))
#define ISOLATOR_YIELD_MAX		NSEC_PER_SEC
#define ISOLATOR_DEADLINE_MIN		((u64)NSEC_PER_MSEC)

/* What can be pending, by what ends it and by which deadline bounds it. */
enum isolator_kind {
	ISOLATOR_KIND_CALL,	/* CSD or irq_work somebody may spin for: D_spin */
	ISOLATOR_KIND_WAKE,	/* remote wake-up: D */
	ISOLATOR_KIND_RESCHED,	/* preemption of the isolated task: D */
	ISOLATOR_KIND_SIGNAL,	/* signal, ptrace, task work: D */
	ISOLATOR_KIND_THREAD,	/* a thread of this CPU is runnable: D */
	ISOLATOR_KIND_TIMER,	/* a timer of this CPU has expired: D */
	ISOLATOR_KIND_CLOCK,	/* limits or CPU timers to check: never a deadline miss */
	ISOLATOR_KINDS,
};

extern const char *const isolator_kind_names[ISOLATOR_KINDS];
extern const char *const isolator_count_names[ISOLATOR_COUNTS];

/**
 * struct isolator_request - the oldest pending request of a kind, and how many
 * @since: ktime of the oldest, 0 if none is pending
 * @count: how many wait
 * @func: callback of the oldest, NULL where there is none
 * @caller: address in the sender that asked for it
 * @cpu: the sender's CPU
 * @pid: the sending task; for THREAD the one that waits
 * @comm: its name
 */
struct isolator_request {
	u64		since;
	u64		count;
	void		*func;
	unsigned long	caller;
	int		cpu;
	pid_t		pid;
	char		comm[TASK_COMM_LEN];
};

/**
 * struct isolator_delivery - a deadline that passed, or a request always delivered
 * @when: ktime of the delivery
 * @waited: how long the request had waited, in ns; 0 for what is never queued
 * @stack: frames of the sender, if it still waited; else @nr_stack is 0
 */
struct isolator_delivery {
	u64			when;
	u64			waited;
	enum isolator_kind	kind;
	bool			immediate;
	struct isolator_request	request;
	unsigned int		nr_stack;
	unsigned long		stack[ISOLATOR_STACK];
};

/**
 * struct isolator_rule - a callback that is not queued, and what becomes of it
 *
 * An entry of the table, which only grows.
 */
struct isolator_rule {
	void			*func;
	enum isolator_policy	policy;
};

/**
 * struct isolator_tally - what one CPU has avoided for an isolated one, by rule
 *
 * Only that CPU writes it, so that senders share neither a lock nor a cache line.
 */
struct isolator_tally {
	u64	avoided[ISOLATOR_RULES];
};

struct isolator_callback {
	void	*func;
	u64	counts[ISOLATOR_COUNTS];
	u64	longest;
};

/**
 * struct isolator_shared - the page of a session that user mode maps, read only
 * @rcu: for whoever has it in hand when the session ends, with preemption off
 * @page: the session's reference
 */
struct isolator_shared {
	struct rcu_head	rcu;
	struct page	*page;
};

/**
 * struct isolator_own - what the isolated task itself, or its start, asked for
 * @ticks: ticks that entered the kernel
 * @entries: of them, kernel entries that were made for something else
 * @yields: how often the CPU was yielded
 * @planned: planned interruptions, one a batch period
 */
struct isolator_own {
	u64	ticks;
	u64	entries;
	u64	yields;
	u64	planned;
};

/**
 * struct isolator_cpu - the rest of an isolated CPU's state; constant size
 * @lock: requests, deadline misses and callbacks; taken with interrupts off, innermost
 * @mutex: its start and its restoration, one at a time
 * @owner: the isolated task; set and cleared by start and end only
 * @mm: its memory, of which others keep off
 * @page: the shared page; @shared holds one reference, each mapping another
 * @mask: ISOLATOR_MASK_* in force
 * @depth: starts to be undone
 * @batch_ns: period of planned interruptions, 0 for none; the last was at @last_batch
 * @auto_tick: a kernel entry with something due is a tick
 * @tick_now: this entry is one, and has not been yet; only the owner's CPU
 * @timer_next: ktime of the first timer left behind on this CPU
 * @tick_required: a deadline passed for a timer of this CPU: run what a tick runs
 * @yield_required: so many ns are to be yielded at once, threads of this CPU waiting
 * @yielding: the owner yields the CPU right now
 * @waiter: the last thread of this CPU that became runnable, with its name
 * @tick_off: the periodic tick was stopped for the owner's user mode
 * @timers_away: the CPU has left the timer migration hierarchy; only with @tick_off
 * @ran_since: jiffies when @tick_off was set, or of the last tick since
 * @end: why the last isolation ended
 * @ending: an end has begun and not been restored
 * @senders: who asked for what since the last start; NULL before the first
 * @tally: what was avoided, by sending CPU; NULL before the first start, then for good
 * @tally_base: its sums at the last start
 * @last: the task whose isolation ended, with @last_start
 * @quarantine: what is removed from @mm waits for this CPU, unasked; NULL: as asked for
 * @reaped: @flushed of this CPU when its quarantine was last looked through
 * @section: where its quiet section of the kernel was entered from
 * @now_since: ktime since which that is to be left at once; 0: it is not
 * @overdue: it has broken its promise, which is told once a stay
 * @stay: ktime of its begin
 * @irqs_come: a device's interrupt could not be moved away, or was aimed here since
 * @overdue_work: tells
 */
struct isolator_cpu {
	raw_spinlock_t		lock;
	struct mutex		mutex;	/* its start and its restoration */
	int			cpu;
	struct task_struct	*owner;
	struct mm_struct	*mm;
	struct isolator_page	*page;
	struct isolator_shared	*shared;
	u32			mask;
	u32			got;
	u32			depth;
	u64			deadline;
	u64			spin;
	u64			yield_ns;
	u64			started;
	u64			batch_ns;
	u64			last_batch;
	bool			auto_tick;
	bool			tick_now;
	u64			timer_next;
	bool			tick_required;
	u64			yield_required;
	bool			yielding;
	bool			tick_off;
	bool			timers_away;
	unsigned long		ran_since;
	enum isolator_end	end;
	bool			ending;
	pid_t			last;
	u64			last_start;
	struct work_struct	end_work;
	call_single_data_t	revive;
	struct isolator_request	requests[ISOLATOR_KINDS];
	u64			longest[ISOLATOR_KINDS];
	u64			counts[ISOLATOR_COUNTS];
	struct isolator_own	own;
	unsigned int		nr_deliveries;
	struct isolator_delivery	deliveries[ISOLATOR_DELIVERIES];
	struct isolator_callback callbacks[ISOLATOR_CALLBACKS];
	u64			callbacks_lost;
	struct isolator_senders	*senders;
	struct isolator_tally __percpu *tally;
	u64			tally_base[ISOLATOR_RULES];
	pid_t			waiter;
	char			waiter_comm[TASK_COMM_LEN];
	struct isolator_quarantine *quarantine;
	long			reaped;
	unsigned long		section;
	u64			now_since;
	bool			overdue;
	bool			irqs_come;
	u64			stay;
	struct irq_work		overdue_work;
};

/**
 * struct isolator_limits - what the administrator allows those who may start
 * @deadline: longest D, in ns; strict mode is beyond it
 * @spin: longest D_spin, in ns
 * @refuse_perf: counters aimed at an isolated CPU get -EBUSY; else they wait
 * @refuse_msr: reads of its MSRs and CPUID likewise
 * @quarantine: bytes of memory that all quarantines may hold together
 */
struct isolator_limits {
	u64	deadline;
	u64	spin;
	bool	refuse_perf;
	bool	refuse_msr;
	u64	quarantine;
};

DECLARE_PER_CPU(struct isolator_cpu, isolator_cpus);

static inline struct isolator_cpu *isolator_of(int cpu)
{
	return per_cpu_ptr(&isolator_cpus, cpu);
}

/* ns since @since, by a clock of which another CPU may have been ahead for a moment. */
static inline u64 isolator_since(u64 since)
{
	u64 now = ktime_get_mono_fast_ns();

	return now > since ? now - since : 0;
}

/*
 * Is the current task the owner?  Then it is on @ic's CPU.  An end may come at any time
 * but while interrupts or preemption are off there: see isolator_local_off().
 */
static inline bool isolator_running(struct isolator_cpu *ic)
{
	return READ_ONCE(ic->owner) == current;
}

/* requests.c */
void isolator_due(struct isolator_cpu *ic, u32 bits);
void isolator_note_queued(struct isolator_cpu *ic, enum isolator_kind kind,
			  void *func, unsigned long caller, struct task_struct *p);
void isolator_note_taken(struct isolator_cpu *ic, enum isolator_kind kind);

/* ipi.c */
extern atomic_t isolator_bypassed;
bool isolator_bypass(void);
bool isolator_in_user(int cpu);
bool isolator_quiet(int cpu);
void isolator_deliver(int cpu);
void isolator_flush_queued_calls(void);

struct isolator_caller;

/* callers.c */
struct isolator_cpu *isolator_of_caller(const struct isolator_caller *caller);

/* section.c */
bool isolator_in_section(int cpu);
void isolator_due_now(int cpu);
bool isolator_overdue(struct isolator_cpu *ic);
void isolator_watch_section(struct isolator_cpu *ic);
void isolator_section_init(void);

/* policy.c */
unsigned int isolator_rule_slot(const struct isolator_rule *rule);
const struct isolator_rule *isolator_rule_at(unsigned int slot);

/* immediate.c */
void isolator_count_immediate(struct isolator_cpu *ic, enum isolator_kind kind, void *func);

/* entry.c */
bool isolator_is_due(struct isolator_cpu *ic);
void isolator_unmute(void);
void isolator_start_tick(struct isolator_cpu *ic);

/* stats.c */
void isolator_count_locked(struct isolator_cpu *ic, enum isolator_count what,
			   enum isolator_kind kind, void *func, const char *comm);
struct isolator_callback *isolator_callback_slot(struct isolator_callback *callbacks,
						 void *func);
void isolator_count_avoided(struct isolator_cpu *ic, const struct isolator_rule *rule);
u64 isolator_tally_since(struct isolator_cpu *ic, unsigned int slot);
enum isolator_count isolator_rule_count(const struct isolator_rule *rule);
void isolator_reset_tally(struct isolator_cpu *ic);
void isolator_note_wait(struct isolator_cpu *ic, enum isolator_kind kind,
			u64 waited);
void isolator_record_delivery(struct isolator_cpu *ic, enum isolator_kind kind,
			      const struct isolator_request *request, u64 waited,
			      bool stack, bool immediate);
void isolator_own_inc(struct isolator_cpu *ic, u64 *count);
void isolator_reset_longest(struct isolator_cpu *ic);
void isolator_reset_stats(struct isolator_cpu *ic);
void isolator_forget_module(struct isolator_cpu *ic, const struct module *module);
int isolator_stats_show(struct seq_file *m, void *v);
int isolator_stats_init(void);

/* senders.c */
pid_t isolator_sender_name(char *comm);
struct isolator_senders *isolator_senders_make(void);
void isolator_senders_reset_longest(struct isolator_cpu *ic);
void isolator_sender_count(struct isolator_cpu *ic, enum isolator_count what,
			   enum isolator_kind kind, void *func, const char *comm);
void isolator_sender_wait(struct isolator_cpu *ic, enum isolator_kind kind,
			  void *func, const char *comm, u64 waited);
void isolator_senders_show(struct seq_file *m, struct isolator_cpu *ic);
void isolator_forget_func(void **func, const struct module *module);
unsigned int isolator_forget_stack(unsigned long *stack, unsigned int nr,
				   const struct module *module);
void isolator_senders_forget(struct isolator_cpu *ic, const struct module *module);

/* deadline.c */
void isolator_watch(void);
void isolator_watch_init(void);
bool isolator_check_deadline(struct isolator_cpu *ic, enum isolator_kind kind, u64 bound,
			     bool stack);

/* start.c */
int isolator_begin(struct isolator_start_args *args);
int isolator_begin_admitted(struct isolator_start_args *args,
			    const struct isolator_start_args *asked, bool locks);

/* core.c */
extern struct mutex isolator_mutex;
extern raw_spinlock_t isolator_lock;
int isolator_stop_one(struct isolator_stop_args *args);
struct isolator_cpu *isolator_of_current(void);
struct isolator_cpu *isolator_current(void);
int isolator_set_allowed(const struct cpumask *mask);

/* keys.c */
void isolator_keys_get(void);
void isolator_keys_put(void);

/* end.c */
bool isolator_disarm(struct isolator_cpu *ic, const struct task_struct *whose,
		     enum isolator_end why);
void isolator_restore(struct isolator_cpu *ic);
void isolator_wait_restored(struct isolator_cpu *ic);
void isolator_end_work(struct work_struct *work);
bool isolator_end(struct isolator_cpu *ic, const struct task_struct *whose,
		  enum isolator_end why);
bool isolator_end_task(const struct task_struct *task, enum isolator_end why);
void isolator_restart_tick(void *info);

/* admit.c */
extern struct cpumask isolator_allowed;
extern struct isolator_limits isolator_limits;
bool isolator_may_lock(void);
bool isolator_in_limits(const struct isolator_start_args *args);
int isolator_fill_times(struct isolator_start_args *args);
int isolator_check_args(struct isolator_start_args *args);
int isolator_check_cpu(int cpu);

/* quarantine.c */
int isolator_quarantine_make(struct mm_struct *mm);
void isolator_quarantine_get(struct isolator_cpu *ic);
void isolator_quarantine_put(struct isolator_cpu *ic);
void isolator_quarantine_poll(struct isolator_cpu *ic);
u64 isolator_quarantine_bytes(struct isolator_cpu *ic);
u64 isolator_quarantine_max(void);
void isolator_quarantine_init(void);

/* timekeeper.c */
int isolator_timekeeper_beside(int cpu);
void isolator_elect_timekeeper(void);
int isolator_timekeeper_leaves(int cpu);
void isolator_timekeeper_left(void);

/* system.c */
bool isolator_in_transition(void);
int isolator_system_init(void);

/* tick.c */
int isolator_do_tick(struct isolator_tick_args *args);
void isolator_run_timers(struct isolator_cpu *ic);
u64 isolator_yield(struct isolator_cpu *ic, u64 budget);
void isolator_auto_tick(struct isolator_cpu *ic);

/* arm.c */
int isolator_start_task(struct isolator_task_args *args);
int isolator_stop_task(const struct isolator_task_args *args);

/* flood.c */
int isolator_flood_write(char *text);
int isolator_flood_show(struct seq_file *m, void *v);

/* stops.c */
/* An instruction that stops.c changes. */
extern char isolator_stops_site[];
int isolator_stops_write(char *text);
int isolator_stops_show(struct seq_file *m, void *v);

/* proc.c, device.c */
int isolator_proc_init(void);
bool isolator_admin(const struct file *file);
void isolator_func_name(char *name, size_t size, void *func);
void isolator_show_func(struct seq_file *m, void *func);
void isolator_show_comm(struct seq_file *m, const char *comm);

#endif /* _ISOLATOR_INTERNAL_H */
