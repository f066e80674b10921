// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "attribute/context.h"
#include "base/array.h"
#include "bpf/sum.h"

static const char *const vectors[RECORD_VECTORS] = {
	[RECORD_LOCAL_TIMER] = "local_timer", [RECORD_RESCHEDULE] = "reschedule",
	[RECORD_CALL_FUNCTION] = "call_function", [RECORD_CALL_SINGLE] = "call_function_single",
	[RECORD_IRQ_WORK] = "irq_work", [RECORD_PLATFORM] = "x86_platform_ipi",
	[RECORD_THERMAL] = "thermal_apic", [RECORD_THRESHOLD] = "threshold_apic",
	[RECORD_DEFERRED] = "deferred_error_apic", [RECORD_ERROR] = "error_apic",
	[RECORD_SPURIOUS] = "spurious_apic",
};

static const char *const faults[RECORD_FAULTS] = {
	[RECORD_FAULT_USER] = "user", [RECORD_FAULT_KERNEL] = "kernel",
};

static const enum cause_kind kinds[RECORD_TYPES] = {
	[RECORD_IRQ] = CAUSE_INTERRUPT, [RECORD_VECTOR] = CAUSE_INTERRUPT,
	[RECORD_IPI] = CAUSE_IPI, [RECORD_CALL] = CAUSE_IPI, [RECORD_SOFTIRQ] = CAUSE_SOFTIRQ,
	[RECORD_TASKLET] = CAUSE_SOFTIRQ, [RECORD_HRTIMER] = CAUSE_TIMER,
	[RECORD_TIMER] = CAUSE_TIMER, [RECORD_WORK] = CAUSE_KWORKER, [RECORD_FAULT] = CAUSE_FAULT,
	[RECORD_NMI] = CAUSE_INTERRUPT, [RECORD_MIGRATION] = CAUSE_MIGRATION,
	[RECORD_PREEMPTION] = CAUSE_PREEMPTION, [RECORD_THREAD] = CAUSE_THREAD,
};

/* A thread of the kernel that stands for something else is called that, and not by its number. */
static enum cause_kind thread(enum cause_kind kind, const __u64 who[2], char comm[NAMES_COMM])
{
	struct context context = { 0 };
	struct actor actor;

	memcpy(comm, who, NAMES_COMM);
	comm[NAMES_COMM - 1] = '\0';
	memcpy(context.comm, comm, NAMES_COMM);
	actor = context_task(&context);
	if (kind == CAUSE_MIGRATION || actor.kind == CAUSE_THREAD)
		return kind;
	return actor.kind;
}

enum cause_kind sum_name(const struct reader *reader, unsigned int type, const __u64 who[2],
			 const char *name, const char **text)
{
	enum cause_kind kind = type < RECORD_TYPES ? kinds[type] : CAUSE_UNKNOWN;
	char comm[NAMES_COMM];
	const char *found = *name ? name : NULL;

	if (who[0] == RECORD_OTHERS && who[1] == RECORD_OTHERS) {
		*text = names_keep(reader->names, NAMES_OTHERS);
		return kind;
	}
	switch (type) {
	case RECORD_IRQ:
		/* On arm64 the timer is one of the devices. */
		if (found && !strcmp(found, "arch_timer"))
			kind = CAUSE_TIMER;
		break;
	case RECORD_IPI:
		break;
	case RECORD_VECTOR:
		found = who[0] < RECORD_VECTORS ? vectors[who[0]] : NULL;
		if (found)
			kind = context_vector(found).kind;
		break;
	case RECORD_SOFTIRQ:
		found = context_softirq(who[0]);
		break;
	case RECORD_FAULT:
		found = who[0] < RECORD_FAULTS ? faults[who[0]] : NULL;
		break;
	case RECORD_MIGRATION:
	case RECORD_PREEMPTION:
	case RECORD_THREAD:
		kind = thread(kind, who, comm);
		found = comm;
		break;
	default:
		found = names_function(reader->names, who[0]);
		if (type == RECORD_CALL && context_patches_text(found))
			kind = CAUSE_TEXT_PATCH;
	}
	*text = found ? names_keep(reader->names, found) : NULL;
	return kind;
}

/* What tracing itself adds to each stack. */
static bool is_ours(const char *call)
{
	static const char *const prefixes[] = {
		"bpf_", "__bpf_", "__traceiter_", "__probestub_", "___bpf_",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(call, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static size_t name_stack(const struct reader *reader, int number, const char *stack[CAUSE_STACK])
{
	uint64_t calls[RECORD_STACK];
	size_t count = reader->stack && number >= 0 ?
		reader->stack(reader->context, number, calls, RECORD_STACK) : 0;
	size_t named = 0;

	for (size_t i = 0; i < count && named < CAUSE_STACK; i++) {
		const char *call = names_function(reader->names, calls[i]);

		if (!call || (!named && is_ours(call)))
			continue;
		stack[named++] = call;
	}
	return named;
}

void sum_sender(const struct reader *reader, const struct record_sender *sender,
		struct cause *cause)
{
	char comm[NAMES_COMM];

	cause->sender = NULL;
	cause->sender_cpu = -1;
	cause->nr_stack = 0;
	if (!sender->known)
		return;
	memcpy(comm, sender->comm, sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	cause->sender = names_keep(reader->names, sender->pid ? comm : "idle");
	cause->sender_cpu = sender->cpu;
	cause->nr_stack = name_stack(reader, sender->stack, cause->stack);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static struct sum *find(struct sums *sums, int cpu, enum cause_kind kind, const char *who)
{
	struct sum *sum;

	for (size_t i = 0; i < sums->count; i++)
		if (sums->list[i].cpu == cpu && sums->list[i].kind == kind &&
		    same_text(sums->list[i].who, who))
			return &sums->list[i];
	sum = ARRAY_ADD(sums->list, sums->count);
	sum->cpu = cpu;
	sum->kind = kind;
	sum->who = who;
	sum->sender_cpu = -1;
	return sum;
}

/* All of @from in @sum, whose worst is the longer one of both. */
static void grow(struct sum *sum, const struct sum *from)
{
	if (from->worst_ns > sum->worst_ns || !sum->count) {
		sum->worst_ns = from->worst_ns;
		sum->worst_at_ns = from->worst_at_ns;
		sum->sender = from->sender;
		sum->sender_cpu = from->sender_cpu;
		memcpy(sum->stack, from->stack, sizeof(sum->stack));
		sum->nr_stack = from->nr_stack;
	}
	sum->count += from->count;
	sum->total_ns += from->total_ns;
	for (size_t i = 0; i < RECORD_BUCKETS; i++)
		sum->buckets[i] += from->buckets[i];
}

void sums_add(struct sums *sums, const struct reader *reader, const struct record_key *key,
	      const struct record_tally *tally)
{
	struct sum one = {
		.count = tally->count, .total_ns = tally->total_ns, .worst_ns = tally->worst_ns,
		.worst_at_ns = tally->worst_at_ns,
	};
	struct cause cause = { 0 };
	char name[RECORD_NAME];
	const char *who;
	enum cause_kind kind;

	/* Made, and nothing counted in it yet. */
	if (!tally->count && !tally->total_ns)
		return;
	memcpy(name, tally->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	memcpy(one.buckets, tally->buckets, sizeof(one.buckets));
	kind = sum_name(reader, key->type, key->who, name, &who);
	sum_sender(reader, &tally->sender, &cause);
	one.sender = cause.sender;
	one.sender_cpu = cause.sender_cpu;
	one.nr_stack = cause.nr_stack;
	memcpy(one.stack, cause.stack, sizeof(one.stack));
	grow(find(sums, (int)key->cpu, kind, who), &one);
}

void sums_merge(struct sums *all, const struct sums *sums)
{
	for (size_t i = 0; i < sums->count; i++)
		grow(find(all, -1, sums->list[i].kind, sums->list[i].who), &sums->list[i]);
}

static int by_time(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return a->count < b->count ? 1 : -(a->count > b->count);
}

void sums_sort(struct sums *sums)
{
	if (sums->count)
		qsort(sums->list, sums->count, sizeof(*sums->list), by_time);
}

void sums_free(struct sums *sums)
{
	free(sums->list);
	memset(sums, 0, sizeof(*sums));
}
