// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "attribute/context.h"
#include "base/array.h"

static const char *const softirqs[] = {
	"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER",
	"RCU",
};

void context_forget(struct context *context)
{
	memset(context, 0, sizeof(*context));
	context->prio = -1;
	context->idle = -1;
}

void context_learn(struct context *context, const struct trace_event *event)
{
	if (context->known)
		return;
	context->known = true;
	context->pid = event->pid;
}

static bool begins(enum trace_type type)
{
	switch (type) {
	case TRACE_IRQ_ENTRY:
	case TRACE_VECTOR_ENTRY:
	case TRACE_IPI_ENTRY:
	case TRACE_CALL_ENTRY:
	case TRACE_SOFTIRQ_ENTRY:
	case TRACE_TASKLET_ENTRY:
	case TRACE_WORK_ENTRY:
	case TRACE_HRTIMER_ENTRY:
	case TRACE_TIMER_ENTRY:
		return true;
	default:
		return false;
	}
}

/* What began it; TRACE_TYPES: it ends nothing. */
static enum trace_type ended(enum trace_type type)
{
	switch (type) {
	case TRACE_IRQ_EXIT:
		return TRACE_IRQ_ENTRY;
	case TRACE_VECTOR_EXIT:
		return TRACE_VECTOR_ENTRY;
	case TRACE_IPI_EXIT:
		return TRACE_IPI_ENTRY;
	case TRACE_CALL_EXIT:
		return TRACE_CALL_ENTRY;
	case TRACE_SOFTIRQ_EXIT:
		return TRACE_SOFTIRQ_ENTRY;
	case TRACE_TASKLET_EXIT:
		return TRACE_TASKLET_ENTRY;
	case TRACE_WORK_EXIT:
		return TRACE_WORK_ENTRY;
	case TRACE_HRTIMER_EXIT:
		return TRACE_HRTIMER_ENTRY;
	case TRACE_TIMER_EXIT:
		return TRACE_TIMER_ENTRY;
	default:
		return TRACE_TYPES;
	}
}

/* What the begin and the end of one thing both name. */
static uint64_t key(const struct trace_event *event)
{
	switch (event->type) {
	case TRACE_CALL_ENTRY:
	case TRACE_CALL_EXIT:
	case TRACE_TASKLET_ENTRY:
	case TRACE_TASKLET_EXIT:
	case TRACE_WORK_ENTRY:
	case TRACE_WORK_EXIT:
	case TRACE_HRTIMER_ENTRY:
	case TRACE_HRTIMER_EXIT:
	case TRACE_TIMER_ENTRY:
	case TRACE_TIMER_EXIT:
		return (uint64_t)event->n[1];
	default:
		return (uint64_t)event->n[0];
	}
}

/* Is it a function that another CPU calls such that this one sees changed code? */
static bool patches_text(const char *function)
{
	/* x86, others */
	return function && (!strcmp(function, "do_sync_core") || !strcmp(function, "do_nothing"));
}

/* What an interrupt of the processor's own is, by the name that tracing gives it. */
static struct actor vector(const char *call)
{
	struct actor actor = { CAUSE_INTERRUPT, -1, 0, call };

	if (!strcmp(call, "local_timer"))
		actor.kind = CAUSE_TIMER;
	else if (!strcmp(call, "reschedule") || !strncmp(call, "call_function", 13) ||
		 !strcmp(call, "irq_work") || !strcmp(call, "x86_platform_ipi"))
		actor.kind = CAUSE_IPI;
	return actor;
}

/* Of an event that begins something, or ends it. */
static struct actor actor_of(const struct trace_event *event, struct names *names)
{
	struct actor actor = { CAUSE_UNKNOWN, -1, 0, NULL };
	uint64_t number = (uint64_t)event->n[0];

	switch (event->type) {
	case TRACE_IRQ_ENTRY:
		/* On arm64 the timer is one of the devices. */
		actor.kind = !strcmp(event->text[0], "arch_timer") ? CAUSE_TIMER :
			CAUSE_INTERRUPT;
		actor.text = names_keep(names, event->text[0]);
		break;
	case TRACE_IRQ_EXIT:
		actor.kind = CAUSE_INTERRUPT;
		break;
	case TRACE_VECTOR_ENTRY:
	case TRACE_VECTOR_EXIT:
		return vector(event->call);
	case TRACE_IPI_ENTRY:
	case TRACE_IPI_EXIT:
		actor.kind = CAUSE_IPI;
		actor.text = names_reason(names, number);
		break;
	case TRACE_CALL_ENTRY:
	case TRACE_CALL_EXIT:
		actor.kind = patches_text(names_function(names, number)) ? CAUSE_TEXT_PATCH :
			CAUSE_IPI;
		actor.function = number;
		break;
	case TRACE_SOFTIRQ_ENTRY:
	case TRACE_SOFTIRQ_EXIT:
		actor.kind = CAUSE_SOFTIRQ;
		if (number < ARRAY_SIZE(softirqs))
			actor.text = softirqs[number];
		break;
	case TRACE_TASKLET_ENTRY:
	case TRACE_TASKLET_EXIT:
		actor.kind = CAUSE_SOFTIRQ;
		actor.function = number;
		break;
	case TRACE_WORK_ENTRY:
	case TRACE_WORK_EXIT:
		actor.kind = CAUSE_KWORKER;
		actor.function = number;
		actor.pid = event->pid;
		break;
	default:
		actor.kind = CAUSE_TIMER;
		actor.function = number;
	}
	return actor;
}

static void push(struct context *context, const struct trace_event *event, struct names *names)
{
	struct frame *frame;

	if (context->depth == CONTEXT_DEPTH) {
		context->beyond++;
		return;
	}
	frame = &context->frames[context->depth];
	*frame = (struct frame){
		.actor = actor_of(event, names),
		.type = event->type,
		.key = key(event),
		.since_ns = event->ns,
	};
	/* A timer or a call belongs to what it runs in. */
	frame->hard = event->type == TRACE_IRQ_ENTRY || event->type == TRACE_VECTOR_ENTRY ||
		event->type == TRACE_IPI_ENTRY ||
		(context->depth && frame[-1].hard);
	context->depth++;
}

/* The frame that @event ends; -1: none. */
static int find(const struct context *context, const struct trace_event *event)
{
	enum trace_type type = ended(event->type);

	for (int i = (int)context->depth - 1; i >= 0; i--)
		if (context->frames[i].type == type && context->frames[i].key == key(event))
			return i;
	return -1;
}

static void pop(struct context *context, const struct trace_event *event)
{
	int at;

	if (context->beyond) {
		context->beyond--;
		return;
	}
	at = find(context, event);
	/* What is above it has ended too, unseen. */
	if (at >= 0)
		context->depth = (unsigned int)at;
}

/* What the task is amid of goes with it. */
static void keep(struct context *context, int pid)
{
	unsigned int soft = 0;

	while (soft < context->depth && !context->frames[soft].hard)
		soft++;
	context->depth = 0;
	context->beyond = 0;
	if (!soft)
		return;
	if (soft > CONTEXT_KEPT_DEPTH)
		soft = CONTEXT_KEPT_DEPTH;
	context->kept[context->next_kept].pid = pid;
	context->kept[context->next_kept].depth = soft;
	memcpy(context->kept[context->next_kept].frames, context->frames,
	       soft * sizeof(*context->frames));
	context->next_kept = (context->next_kept + 1) % CONTEXT_KEPT;
}

static void take_up(struct context *context, int pid)
{
	for (size_t i = 0; i < CONTEXT_KEPT; i++) {
		if (!context->kept[i].depth || context->kept[i].pid != pid)
			continue;
		context->depth = context->kept[i].depth;
		memcpy(context->frames, context->kept[i].frames,
		       context->depth * sizeof(*context->frames));
		context->kept[i].depth = 0;
	}
}

static void change_task(struct context *context, const struct trace_event *event)
{
	keep(context, (int)event->n[0]);
	context->known = true;
	context->pid = (int)event->n[3];
	context->prio = (int)event->n[4];
	snprintf(context->comm, sizeof(context->comm), "%.15s", event->text[1]);
	context->since_ns = event->ns;
	context->idle = -1;
	take_up(context, context->pid);
}

void context_next(struct context *context, const struct trace_event *event, struct names *names)
{
	context_learn(context, event);
	if (event->type == TRACE_SWITCH) {
		names_task_seen(names, (int)event->n[0], event->text[0]);
		names_task_seen(names, (int)event->n[3], event->text[1]);
		change_task(context, event);
	} else if (event->type == TRACE_IDLE) {
		context->idle = (uint32_t)event->n[0] == UINT32_MAX ? -1 : (int)event->n[0];
		context->idle_ns = event->ns;
	} else if (begins(event->type)) {
		push(context, event, names);
	} else if (ended(event->type) != TRACE_TYPES) {
		pop(context, event);
	}
}

const struct frame *context_top(const struct context *context)
{
	return context->depth ? &context->frames[context->depth - 1] : NULL;
}

bool context_orphan(const struct context *context, const struct trace_event *event,
		    struct names *names, struct actor *actor)
{
	if (ended(event->type) == TRACE_TYPES || context->beyond || find(context, event) >= 0)
		return false;
	*actor = actor_of(event, names);
	return true;
}

struct actor context_task(const struct context *context)
{
	static const struct {
		const char *prefix;
		enum cause_kind kind;
	} stand_for[] = {
		{ "kworker/", CAUSE_KWORKER },
		{ "irq/", CAUSE_INTERRUPT },
		{ "ksoftirqd/", CAUSE_SOFTIRQ },
		{ "ktimers/", CAUSE_SOFTIRQ },
	};
	struct actor actor = { CAUSE_THREAD, context->pid, 0, *context->comm ? context->comm : NULL };

	for (size_t i = 0; i < ARRAY_SIZE(stand_for); i++)
		if (!strncmp(context->comm, stand_for[i].prefix, strlen(stand_for[i].prefix)))
			actor.kind = stand_for[i].kind;
	return actor;
}
