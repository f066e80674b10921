// SPDX-License-Identifier: GPL-2.0-only
/* Isolator: what is counted and remembered, in constant space. */
#include <linux/hash.h>
#include <linux/isolator.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "internal.h"

const char *const isolator_kind_names[ISOLATOR_KINDS] = {
	[ISOLATOR_KIND_CALL]	= "call",
	[ISOLATOR_KIND_WAKE]	= "wake",
	[ISOLATOR_KIND_RESCHED]	= "resched",
	[ISOLATOR_KIND_SIGNAL]	= "signal",
	[ISOLATOR_KIND_THREAD]	= "thread",
	[ISOLATOR_KIND_TIMER]	= "timer",
	[ISOLATOR_KIND_CLOCK]	= "clock",
};

const char *const isolator_count_names[ISOLATOR_COUNTS] = {
	[ISOLATOR_COUNT_DEFERRED]	= "deferred",
	[ISOLATOR_COUNT_EXCLUDED]	= "excluded",
	[ISOLATOR_COUNT_QUEUED]		= "queued",
	[ISOLATOR_COUNT_MISSED]	= "missed",
	[ISOLATOR_COUNT_IMMEDIATE]		= "immediate",
	[ISOLATOR_COUNT_REFUSED]	= "refused",
	[ISOLATOR_COUNT_PLANNED]	= "planned",
};

/**
 * isolator_callback_slot - the slot of @func among @callbacks, a new one if there is none
 *
 * NULL when all are others'.  Context: any, the CPU's lock is held, or it is a copy.
 */
struct isolator_callback *isolator_callback_slot(struct isolator_callback *callbacks,
						 void *func)
{
	unsigned int i, slot = hash_ptr(func, ilog2(ISOLATOR_CALLBACKS));

	for (i = 0; i < ISOLATOR_CALLBACKS; i++) {
		struct isolator_callback *cb = &callbacks[slot];

		if (cb->func == func)
			return cb;
		if (!cb->func) {
			cb->func = func;
			return cb;
		}
		slot = (slot + 1) % ISOLATOR_CALLBACKS;
	}
	return NULL;
}

static struct isolator_callback *isolator_slot(struct isolator_cpu *ic, void *func)
{
	struct isolator_callback *cb = isolator_callback_slot(ic->callbacks, func);

	if (!cb)
		ic->callbacks_lost++;
	return cb;
}

/* The page stays while preemption is off: see struct isolator_shared. */
static void isolator_page_inc(struct isolator_cpu *ic, enum isolator_policy policy)
{
	struct isolator_page *page = READ_ONCE(ic->page);

	if (page)
		atomic64_inc(policy == ISOLATOR_EXCLUDE ? (atomic64_t *)&page->excluded :
			     (atomic64_t *)&page->deferred);
}

/**
 * isolator_count_avoided - one more call that @rule avoided
 *
 * Takes no lock and looks nothing up.  Who asked is for the tracepoints: nobody waits
 * for what is avoided, so that there is nobody to be named later.
 * Context: any but NMI, preemption off; the CPU has been isolated.
 */
void isolator_count_avoided(struct isolator_cpu *ic, const struct isolator_rule *rule)
{
	this_cpu_inc(ic->tally->avoided[isolator_rule_slot(rule)]);
	isolator_page_inc(ic, rule->policy);
}

static u64 isolator_tally_sum(struct isolator_cpu *ic, unsigned int slot)
{
	/* Pairs with isolator_make_tally(). */
	struct isolator_tally __percpu *tally = smp_load_acquire(&ic->tally);
	u64 sum = 0;
	int cpu;

	if (!tally)
		return 0;
	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(tally, cpu)->avoided[slot]);
	return sum;
}

/**
 * isolator_reset_tally - what is avoided from here on counts from zero
 *
 * Others' counters are not written: one they add to just now would be lost.  Without the
 * lock, as it goes round all CPUs: what is shown meanwhile may be the last session's and
 * this one's.
 * Context: process, the CPU is not isolated, its mutex held.
 */
void isolator_reset_tally(struct isolator_cpu *ic)
{
	unsigned int slot;

	for (slot = 0; slot < ISOLATOR_RULES; slot++)
		WRITE_ONCE(ic->tally_base[slot], isolator_tally_sum(ic, slot));
}

/**
 * isolator_count_locked - one more of @what, for CPU, callback and sender
 * @ic: the CPU; its lock is held
 * @what: what happened
 * @kind: what was asked for
 * @func: the callback, or NULL
 * @comm: the sender's name, TASK_COMM_LEN bytes
 */
void isolator_count_locked(struct isolator_cpu *ic, enum isolator_count what,
			   enum isolator_kind kind, void *func, const char *comm)
{
	struct isolator_page *page = ic->page;
	struct isolator_callback *cb = func ? isolator_slot(ic, func) : NULL;

	if (cb)
		cb->counts[what]++;
	ic->counts[what]++;
	isolator_sender_count(ic, what, kind, func, comm);
	if (what == ISOLATOR_COUNT_EXCLUDED)
		isolator_page_inc(ic, ISOLATOR_EXCLUDE);
	if (!page)
		return;
	WRITE_ONCE(page->queued, ic->counts[ISOLATOR_COUNT_QUEUED]);
	WRITE_ONCE(page->missed, ic->counts[ISOLATOR_COUNT_MISSED]);
	WRITE_ONCE(page->immediate, ic->counts[ISOLATOR_COUNT_IMMEDIATE]);
}

/**
 * isolator_note_wait - how long the oldest request of a kind has waited
 * @ic: the CPU; its lock is held
 * @kind: what waited
 * @waited: ns
 */
void isolator_note_wait(struct isolator_cpu *ic, enum isolator_kind kind,
			u64 waited)
{
	const struct isolator_request *req = &ic->requests[kind];
	struct isolator_callback *cb = req->func ? isolator_slot(ic, req->func) : NULL;

	ic->longest[kind] = max(ic->longest[kind], waited);
	isolator_sender_wait(ic, kind, req->func, req->comm, waited);
	if (cb)
		cb->longest = max(cb->longest, waited);
}

/**
 * isolator_count - one more of @what that the current context asked for
 *
 * Takes the lock.
 * Context: any but NMI.
 */
void isolator_count(int cpu, enum isolator_count what, void *func)
{
	struct isolator_cpu *ic = isolator_of(cpu);
	char comm[TASK_COMM_LEN];
	unsigned long flags;

	isolator_sender_name(comm);
	raw_spin_lock_irqsave(&ic->lock, flags);
	isolator_count_locked(ic, what, ISOLATOR_KIND_CALL, func, comm);
	raw_spin_unlock_irqrestore(&ic->lock, flags);
}

/**
 * isolator_record_delivery - remember a deadline miss or immediate delivery; the oldest goes
 * @ic: the CPU; its lock is held
 * @kind: what was delivered
 * @request: who asked for it
 * @waited: ns it had waited
 * @stack: the current task is the sender and still waits: keep its stack
 * @immediate: always delivered at once, no deadline passed
 */
void isolator_record_delivery(struct isolator_cpu *ic, enum isolator_kind kind,
			      const struct isolator_request *request, u64 waited,
			      bool stack, bool immediate)
{
	struct isolator_delivery *delivery;

	delivery = &ic->deliveries[ic->nr_deliveries++ % ISOLATOR_DELIVERIES];
	delivery->when = ktime_get_mono_fast_ns();
	delivery->waited = waited;
	delivery->kind = kind;
	delivery->immediate = immediate;
	delivery->request = *request;
	delivery->nr_stack = stack ? stack_trace_save(delivery->stack,
						      ISOLATOR_STACK, 2) : 0;
}

/**
 * isolator_own_inc - one more of what the task asked for; takes the lock
 * @ic: the CPU
 * @count: a member of @ic->own
 *
 * The page shows it, too; an end takes the page away under the lock.
 * Context: any but NMI.
 */
void isolator_own_inc(struct isolator_cpu *ic, u64 *count)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ic->lock, flags);
	(*count)++;
	if (ic->page) {
		WRITE_ONCE(ic->page->ticks, ic->own.ticks);
		WRITE_ONCE(ic->page->yields, ic->own.yields);
		WRITE_ONCE(ic->page->planned, ic->own.planned);
	}
	raw_spin_unlock_irqrestore(&ic->lock, flags);
}

/** isolator_reset_longest - forget the longest waits seen so far; takes the lock */
void isolator_reset_longest(struct isolator_cpu *ic)
{
	int i;

	raw_spin_lock_irq(&ic->lock);
	memset(ic->longest, 0, sizeof(ic->longest));
	for (i = 0; i < ISOLATOR_CALLBACKS; i++)
		ic->callbacks[i].longest = 0;
	raw_spin_unlock_irq(&ic->lock);
}

/** isolator_reset_stats - a new session starts from zero; lock held */
void isolator_reset_stats(struct isolator_cpu *ic)
{
	memset(ic->requests, 0, sizeof(ic->requests));
	memset(ic->longest, 0, sizeof(ic->longest));
	memset(ic->counts, 0, sizeof(ic->counts));
	memset(&ic->own, 0, sizeof(ic->own));
	memset(ic->deliveries, 0, sizeof(ic->deliveries));
	memset(ic->callbacks, 0, sizeof(ic->callbacks));
	ic->nr_deliveries = 0;
	ic->callbacks_lost = 0;
}

/**
 * isolator_tally_since - calls avoided by the rule at a place of the table since the start
 *
 * Context: any.
 */
u64 isolator_tally_since(struct isolator_cpu *ic, unsigned int slot)
{
	u64 base = READ_ONCE(ic->tally_base[slot]);

	/*
	 * The base first: counters only grow, so that no later sum is less than it. Pairs
	 * with isolator_reset_tally(), whose store depends on the counters that it read.
	 */
	smp_rmb();
	return isolator_tally_sum(ic, slot) - base;
}

/** isolator_rule_count - where the totals count what @rule avoids */
enum isolator_count isolator_rule_count(const struct isolator_rule *rule)
{
	return rule->policy == ISOLATOR_EXCLUDE ? ISOLATOR_COUNT_EXCLUDED :
	       ISOLATOR_COUNT_DEFERRED;
}

/*
 * Adds what was avoided for the CPU to what is counted under its lock.  @callbacks: of the
 * same CPU, or NULL; one without a place among them is missing there, not in @counts.
 */
static void isolator_add_avoided(struct isolator_cpu *ic, u64 *counts,
				 struct isolator_callback *callbacks, u64 *lost)
{
	const struct isolator_rule *rule;
	unsigned int slot;

	for (slot = 0; (rule = isolator_rule_at(slot)); slot++) {
		enum isolator_count what = isolator_rule_count(rule);
		u64 avoided = isolator_tally_since(ic, slot);
		struct isolator_callback *cb;

		counts[what] += avoided;
		if (!callbacks || !avoided)
			continue;
		cb = isolator_callback_slot(callbacks, rule->func);
		if (cb)
			cb->counts[what] += avoided;
		else
			*lost += avoided;
	}
}

static void isolator_show_callbacks(struct seq_file *m, struct isolator_cpu *ic,
				    const struct isolator_callback *callbacks)
{
	int i, j;

	for (i = 0; i < ISOLATOR_CALLBACKS; i++) {
		const struct isolator_callback *cb = &callbacks[i];

		if (!cb->func)
			continue;
		seq_printf(m, "cpu %d callback ", ic->cpu);
		isolator_show_func(m, cb->func);
		for (j = 0; j < ISOLATOR_COUNTS; j++)
			seq_printf(m, " %s %llu", isolator_count_names[j],
				   cb->counts[j]);
		seq_printf(m, " longest_ns %llu\n", cb->longest);
	}
}

/**
 * isolator_stats_show - /proc/isolator/stats; callbacks for an administrator only
 *
 * Returns 0 or -ENOMEM.  Context: process, may sleep.
 */
int isolator_stats_show(struct seq_file *m, void *v)
{
	struct isolator_callback *callbacks = NULL;
	int cpu, i;

	if (isolator_admin(m->file)) {
		callbacks = kmalloc_array(ISOLATOR_CALLBACKS, sizeof(*callbacks),
					  GFP_KERNEL);
		if (!callbacks)
			return -ENOMEM;
	}
	for_each_possible_cpu(cpu) {
		struct isolator_cpu *ic = isolator_of(cpu);
		u64 counts[ISOLATOR_COUNTS], longest[ISOLATOR_KINDS], lost;
		struct isolator_own own;

		if (!cpumask_test_cpu(cpu, &isolator_cpumask) &&
		    ic->end == ISOLATOR_END_NONE)
			continue;
		raw_spin_lock_irq(&ic->lock);
		memcpy(counts, ic->counts, sizeof(counts));
		memcpy(longest, ic->longest, sizeof(longest));
		lost = ic->callbacks_lost;
		own = ic->own;
		if (callbacks)
			memcpy(callbacks, ic->callbacks, sizeof(ic->callbacks));
		raw_spin_unlock_irq(&ic->lock);
		isolator_add_avoided(ic, counts, callbacks, &lost);

		seq_printf(m, "cpu %d total", cpu);
		for (i = 0; i < ISOLATOR_COUNTS; i++)
			seq_printf(m, " %s %llu", isolator_count_names[i], counts[i]);
		seq_printf(m, " uncounted_callbacks %llu\n", lost);
		seq_printf(m, "cpu %d own ticks %llu entries %llu yields %llu planned %llu\n",
			   cpu, own.ticks, own.entries, own.yields, own.planned);
		for (i = 0; i < ISOLATOR_KINDS; i++)
			seq_printf(m, "cpu %d kind %s longest_ns %llu\n", cpu,
				   isolator_kind_names[i], longest[i]);
		if (callbacks)
			isolator_show_callbacks(m, ic, callbacks);
	}
	kfree(callbacks);
	return 0;
}

/* Does this address go?  Of a module that has begun, what only began it. */
static bool isolator_goes(unsigned long address, const struct module *module)
{
	return module->state == MODULE_STATE_LIVE ? within_module_init(address, module) :
						    within_module(address, module);
}

/** isolator_forget_func - a function of a module that goes is nobody's from now on */
void isolator_forget_func(void **func, const struct module *module)
{
	if (isolator_goes((unsigned long)*func, module))
		*func = ISOLATOR_FUNC_GONE;
}

/** isolator_forget_stack - the frames of a module that goes leave @stack; returns how many stay */
unsigned int isolator_forget_stack(unsigned long *stack, unsigned int nr,
				   const struct module *module)
{
	unsigned int i, stay = 0;

	for (i = 0; i < nr; i++) {
		if (!isolator_goes(stack[i], module))
			stack[stay++] = stack[i];
	}
	return stay;
}

static void isolator_forget_delivery(struct isolator_delivery *d, const struct module *module)
{
	isolator_forget_func(&d->request.func, module);
	if (isolator_goes(d->request.caller, module))
		d->request.caller = 0;
	d->nr_stack = isolator_forget_stack(d->stack, d->nr_stack, module);
}

/**
 * isolator_forget_module - the functions of a module that goes, or those that only began it
 * @ic: the CPU
 * @module: its memory is still there; its state says which
 *
 * Another module's may come to the same addresses: they are not these.  The counts
 * stay, and the names that were taken when they were seen.  Context: process.
 */
void isolator_forget_module(struct isolator_cpu *ic, const struct module *module)
{
	int i;

	/* Never isolated. */
	if (!READ_ONCE(ic->senders))
		return;
	raw_spin_lock_irq(&ic->lock);
	for (i = 0; i < ISOLATOR_CALLBACKS; i++)
		isolator_forget_func(&ic->callbacks[i].func, module);
	for (i = 0; i < ISOLATOR_DELIVERIES; i++)
		isolator_forget_delivery(&ic->deliveries[i], module);
	raw_spin_unlock_irq(&ic->lock);
	isolator_senders_forget(ic, module);
}

#ifdef CONFIG_MODULES
static int isolator_module_goes(struct notifier_block *nb, unsigned long state, void *module)
{
	int cpu;

	if (state != MODULE_STATE_GOING && state != MODULE_STATE_LIVE)
		return NOTIFY_DONE;
	/* Its own may be among them; who frees the memory has the grace period. */
	isolator_flush_queued_calls();
	for_each_possible_cpu(cpu)
		isolator_forget_module(isolator_of(cpu), module);
	return NOTIFY_OK;
}

static struct notifier_block isolator_module_notifier = {
	.notifier_call = isolator_module_goes,
};

/** isolator_stats_init - at boot; 0 or a negative errno */
int isolator_stats_init(void)
{
	return register_module_notifier(&isolator_module_notifier);
}
#else
int isolator_stats_init(void)
{
	return 0;
}
#endif
