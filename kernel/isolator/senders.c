// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: who asked for what, and from where.  One entry for each callback, kind
 * and name of a sender, in a table of constant size; what finds no place in it is
 * counted as "others", so that the sums stay right.  Who asked for what was avoided is
 * not recorded: nobody waits for that, and its sender takes no lock.
 */
#include <linux/isolator.h>
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#include "internal.h"

#define ISOLATOR_SENDER_STACK	8	/* frames, of the first time it was seen */
#define ISOLATOR_SENDER_NAME	48	/* of a function of a module, which may go */
#define ISOLATOR_SENDER_PROBES	8	/* slots looked at before it is one of the others */
#define ISOLATOR_SENDER_NAMES	128	/* of one callback and kind; more are others */
#define ISOLATOR_SENDER_QUOTAS	64

struct isolator_sender {
	bool			used;
	enum isolator_kind	kind;
	void			*func;
	char			name[ISOLATOR_SENDER_NAME];
	char			comm[TASK_COMM_LEN];
	u64			counts[ISOLATOR_COUNTS];
	u64			longest;
	unsigned int		nr_stack;
	unsigned long		stack[ISOLATOR_SENDER_STACK];
};

/*
 * The seed: names are the users' choice, the slots they come to are not.  The quotas:
 * one who takes ever new names fills the places of the callbacks that he can ask
 * for, not the table.  Callbacks whose hashes are equal share one.
 */
struct isolator_senders {
	u32			seed;
	u16			names[ISOLATOR_SENDER_QUOTAS];
	struct isolator_sender	slots[ISOLATOR_SENDERS];
	struct isolator_sender	others;
};

/**
 * isolator_sender_name - the name of who asks right now
 * @comm: TASK_COMM_LEN bytes, filled
 *
 * Returns its pid.  In an interrupt the task below it has nothing to do with it:
 * 0 then.  Context: any.
 */
pid_t isolator_sender_name(char *comm)
{
	if (!in_task()) {
		strscpy_pad(comm, "(interrupt)", TASK_COMM_LEN);
		return 0;
	}
	memcpy(comm, current->comm, TASK_COMM_LEN);
	return current->pid;
}

/**
 * isolator_senders_make - an empty table; NULL without memory
 *
 * Context: process, may sleep.
 */
struct isolator_senders *isolator_senders_make(void)
{
	struct isolator_senders *table = kvzalloc(sizeof(*table), GFP_KERNEL);

	if (table)
		table->seed = get_random_u32();
	return table;
}

/* Its entry, a new one where there is room, else the others'. */
static struct isolator_sender *isolator_sender(struct isolator_senders *table,
					       enum isolator_kind kind, void *func,
					       const char *comm)
{
	u32 hash = hash_ptr(func, 32) + kind;
	u32 slot = jhash(comm, strnlen(comm, TASK_COMM_LEN), table->seed ^ hash);
	u16 *names = &table->names[hash_32(hash, ilog2(ISOLATOR_SENDER_QUOTAS))];
	int i;

	for (i = 0; i < ISOLATOR_SENDER_PROBES; i++, slot++) {
		struct isolator_sender *s = &table->slots[slot % ISOLATOR_SENDERS];

		if (!s->used) {
			if (*names == ISOLATOR_SENDER_NAMES)
				break;
			++*names;
			s->used = true;
			s->kind = kind;
			s->func = func;
			strscpy(s->comm, comm, TASK_COMM_LEN);
			if (func && !core_kernel_text((unsigned long)func))
				isolator_func_name(s->name, sizeof(s->name), func);
			s->nr_stack = stack_trace_save(s->stack,
						       ISOLATOR_SENDER_STACK, 3);
			return s;
		}
		if (s->func == func && s->kind == kind &&
		    !strncmp(s->comm, comm, TASK_COMM_LEN))
			return s;
	}
	return &table->others;
}

/**
 * isolator_sender_count - one more of @what from a sender; lock held
 * @ic: the CPU
 * @what: what happened
 * @kind: what was asked for
 * @func: callback, or NULL
 * @comm: the sender's name
 *
 * Constant work, whatever is pending and however many senders there are.
 */
void isolator_sender_count(struct isolator_cpu *ic, enum isolator_count what,
			   enum isolator_kind kind, void *func, const char *comm)
{
	if (ic->senders)
		isolator_sender(ic->senders, kind, func, comm)->counts[what]++;
}

/**
 * isolator_sender_wait - how long a sender's request has waited; lock held
 *
 * Only the oldest request of a kind is timed, those behind it are not.
 */
void isolator_sender_wait(struct isolator_cpu *ic, enum isolator_kind kind,
			  void *func, const char *comm, u64 waited)
{
	struct isolator_sender *s;

	if (!ic->senders)
		return;
	s = isolator_sender(ic->senders, kind, func, comm);
	s->longest = max(s->longest, waited);
}

/* The i-th entry, the others' after the last; the lock is held. */
static struct isolator_sender *isolator_sender_at(struct isolator_cpu *ic, int i)
{
	if (!ic->senders)
		return NULL;
	return i < ISOLATOR_SENDERS ? &ic->senders->slots[i] : &ic->senders->others;
}

/**
 * isolator_senders_reset_longest - forget the longest waits
 *
 * One entry at a time, as requesters wait for the lock.  Context: process.
 */
void isolator_senders_reset_longest(struct isolator_cpu *ic)
{
	struct isolator_sender *s;
	int i;

	for (i = 0; i <= ISOLATOR_SENDERS; i++) {
		raw_spin_lock_irq(&ic->lock);
		s = isolator_sender_at(ic, i);
		if (s)
			s->longest = 0;
		raw_spin_unlock_irq(&ic->lock);
	}
}

/**
 * isolator_senders_forget - the functions of a module that goes
 *
 * One entry at a time, as requesters wait for the lock.  Context: process.
 */
void isolator_senders_forget(struct isolator_cpu *ic, const struct module *module)
{
	struct isolator_sender *s;
	int i;

	for (i = 0; i < ISOLATOR_SENDERS; i++) {
		raw_spin_lock_irq(&ic->lock);
		s = isolator_sender_at(ic, i);
		if (s) {
			isolator_forget_func(&s->func, module);
			s->nr_stack = isolator_forget_stack(s->stack, s->nr_stack, module);
		}
		raw_spin_unlock_irq(&ic->lock);
	}
}

static void isolator_show_sender(struct seq_file *m, int cpu,
				 const struct isolator_sender *s, bool others)
{
	unsigned int i;

	seq_printf(m, "cpu %d sender callback ", cpu);
	if (s->name[0])
		seq_puts(m, s->name);
	else
		isolator_show_func(m, s->func);
	seq_printf(m, " kind %s", others ? "others" : isolator_kind_names[s->kind]);
	for (i = 0; i < ISOLATOR_COUNTS; i++)
		seq_printf(m, " %s %llu", isolator_count_names[i], s->counts[i]);
	seq_printf(m, " longest_ns %llu comm ", s->longest);
	isolator_show_comm(m, others ? "-" : s->comm);
	seq_putc(m, '\n');
	for (i = 0; i < s->nr_stack; i++)
		seq_printf(m, "  %pS\n", (void *)s->stack[i]);
}

/* What was deferred or excluded: tracepoints tell who asked for it. */
static void isolator_show_avoided(struct seq_file *m, struct isolator_cpu *ic)
{
	const struct isolator_rule *rule;
	struct isolator_sender s;
	unsigned int slot;

	for (slot = 0; (rule = isolator_rule_at(slot)); slot++) {
		u64 avoided = isolator_tally_since(ic, slot);

		if (!avoided)
			continue;
		memset(&s, 0, sizeof(s));
		s.kind = ISOLATOR_KIND_CALL;
		s.func = rule->func;
		s.counts[isolator_rule_count(rule)] = avoided;
		strscpy(s.comm, "(unrecorded)", sizeof(s.comm));
		isolator_show_sender(m, ic->cpu, &s, false);
	}
}

/**
 * isolator_senders_show - the senders of a CPU, for those who may see them
 *
 * One entry at a time, as requesters wait for the lock.  Context: process.
 */
void isolator_senders_show(struct seq_file *m, struct isolator_cpu *ic)
{
	static const u64 none[ISOLATOR_COUNTS];
	struct isolator_sender copy, *s;
	int i;

	for (i = 0; i <= ISOLATOR_SENDERS; i++) {
		memset(&copy, 0, sizeof(copy));
		raw_spin_lock_irq(&ic->lock);
		s = isolator_sender_at(ic, i);
		if (s)
			copy = *s;
		raw_spin_unlock_irq(&ic->lock);
		if (memcmp(copy.counts, none, sizeof(none)))
			isolator_show_sender(m, ic->cpu, &copy, i == ISOLATOR_SENDERS);
	}
	isolator_show_avoided(m, ic);
}
