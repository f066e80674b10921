// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>

#include "attribute/sweep.h"

/*
 * Between an interrupt and the first event that tells of it, and from the last one back to
 * user mode, the kernel's entry and exit take time that no event shows.  What lasts longer
 * is not theirs.
 */
#define ENTRY_NS UINT64_C(20000)
/* What an idle state without a figure of the driver's may take to leave; a hypervisor's
 * halt ends with a wake-up of its own. */
#define IDLE_NS UINT64_C(200000)

static void add(struct sweep *sweep, enum cause_kind kind, const char *who, int pid, uint64_t ns)
{
	finding_add(sweep->finding, &(struct cause){
		.kind = kind, .who = who, .pid = pid, .sender_cpu = -1, .ns = ns });
}

/* What records the event stands on top of what caused it. */
static bool is_tracing(const char *function)
{
	return !strncmp(function, "trace_event_", strlen("trace_event_")) ||
	       !strncmp(function, "__traceiter_", strlen("__traceiter_")) ||
	       !strncmp(function, "__do_trace_", strlen("__do_trace_"));
}

static void name_sender(struct sweep *sweep, const struct sender *sender, struct cause *cause)
{
	struct names *names = sweep->timeline->names;

	if (!sender)
		return;
	cause->sender = names_task(names, sender->pid);
	cause->sender_cpu = sender->cpu;
	for (size_t i = 0; i < sender->nr_stack; i++) {
		const char *function = names_function(names, sender->stack[i]);

		if (function && (cause->nr_stack || !is_tracing(function)))
			cause->stack[cause->nr_stack++] = function;
	}
}

static const char *actor_name(struct sweep *sweep, const struct actor *actor)
{
	const char *function;
	char hex[24];

	if (!actor->function)
		return actor->text;
	function = names_function(sweep->timeline->names, actor->function);
	if (function)
		return function;
	snprintf(hex, sizeof(hex), "%#llx", (unsigned long long)actor->function);
	return names_keep(sweep->timeline->names, hex);
}

static void add_frame(struct sweep *sweep, const struct frame *frame, uint64_t ns)
{
	struct cause cause = {
		.kind = frame->actor.kind, .who = actor_name(sweep, &frame->actor),
		.pid = frame->actor.pid, .sender_cpu = -1, .ns = ns,
	};

	name_sender(sweep, sender_of_frame(&sweep->timeline->survey.senders, frame), &cause);
	finding_add(sweep->finding, &cause);
}

/* An interrupt that calls functions is theirs, as it would not have come without. */
static bool is_nameless(const struct frame *frame)
{
	return frame->type == TRACE_VECTOR_ENTRY &&
	       !strncmp(frame->actor.text, "call_function", strlen("call_function"));
}

void sweep_name_call(struct sweep *sweep)
{
	bool called = sweep->called.since_ns && sweep->called.since_ns >= sweep->nameless.since_ns;

	if (sweep->nameless_ns)
		add_frame(sweep, called ? &sweep->called : &sweep->nameless, sweep->nameless_ns);
	sweep->nameless_ns = 0;
}

static bool frequency_changed(const struct sweep *sweep, uint64_t *khz)
{
	const struct survey *survey = &sweep->timeline->survey;

	for (size_t i = 0; i < survey->nr_frequencies; i++) {
		uint64_t ns = survey->frequencies[i].ns;

		*khz = survey->frequencies[i].khz;
		if (ns + ENTRY_NS >= sweep->span_from_ns &&
		    ns <= sweep->span_from_ns + sweep->span_ns + ENTRY_NS)
			return true;
	}
	return false;
}

static const char *idle_name(struct sweep *sweep, const struct below_idle *idle)
{
	char name[24];

	if (sweep->span_state < 0)
		return NULL;
	if (!idle)
		snprintf(name, sizeof(name), "state %d", sweep->span_state);
	return names_keep(sweep->timeline->names, idle ? idle->name : name);
}

/* The piece that has no owner ends. */
void sweep_end_span(struct sweep *sweep)
{
	const struct outlier *outlier = sweep->outlier;
	uint64_t ns = sweep->span_ns, khz, bound = IDLE_NS;
	const struct below_idle *idle;
	enum span_type span = sweep->span;

	sweep->span = SPAN_NONE;
	sweep->span_ns = 0;
	if (span == SPAN_NONE || !ns)
		return;
	sweep->span_ns = ns;
	if (ns > ENTRY_NS && frequency_changed(sweep, &khz)) {
		char name[32];

		snprintf(name, sizeof(name), "to %llu kHz", (unsigned long long)khz);
		add(sweep, CAUSE_FREQUENCY, names_keep(sweep->timeline->names, name), -1, ns);
	} else if (span == SPAN_IDLE) {
		idle = below_idle(sweep->timeline->below, outlier->cpu, sweep->span_state);
		if (idle && idle->exit_ns)
			bound = 2 * idle->exit_ns + ENTRY_NS;
		if (ns <= bound)
			add(sweep, CAUSE_IDLE_EXIT, idle_name(sweep, idle), -1, ns);
		else
			sweep->hardware_ns += ns;
	} else if (ns > ENTRY_NS || ns == outlier->to_ns - outlier->from_ns) {
		sweep->hardware_ns += ns;
	}
	sweep->span_ns = 0;
}

static void extend_span(struct sweep *sweep, enum span_type span, uint64_t from, uint64_t to)
{
	if (sweep->span != span)
		sweep_end_span(sweep);
	if (sweep->span == SPAN_NONE) {
		sweep->span_from_ns = from;
		sweep->span_state = -1;
	}
	sweep->span = span;
	sweep->span_ns += to - from;
	if (span == SPAN_IDLE && sweep->context.idle >= 0)
		sweep->span_state = sweep->context.idle;
}

/* The thread that runs instead, or its work. */
static struct cause instead(struct sweep *sweep)
{
	const struct context *context = &sweep->context;
	const struct frame *top = context_top(context);
	struct actor actor = top ? top->actor : context_task(context);
	struct cause cause = {
		.kind = actor.kind, .pid = context->pid, .sender_cpu = -1,
	};
	const struct senders *senders = &sweep->timeline->survey.senders;

	if (top)
		cause.who = actor_name(sweep, &actor);
	else if (actor.text)
		cause.who = names_keep(sweep->timeline->names, actor.text);
	if (!cause.who)
		cause.who = names_task(sweep->timeline->names, context->pid);
	if (top)
		name_sender(sweep, sender_of_frame(senders, top), &cause);
	else if (context->since_ns)
		name_sender(sweep, sender_of_task(senders, context->pid, context->since_ns),
			    &cause);
	return cause;
}

static void share_other(struct sweep *sweep, uint64_t ns)
{
	const struct context *context = &sweep->context;
	struct cause cause = instead(sweep);
	bool chosen = context->since_ns && context->since_ns >= sweep->ready_ns;
	bool lesser = sweep->prio >= 0 && context->prio > sweep->prio;

	cause.ns = ns;
	/* A program cannot hold off interrupts, and the kernel seldom so long. */
	if (sweep->status == STATUS_SLEEPS && ns > ENTRY_NS &&
	    below_stolen(sweep->timeline->below, sweep->outlier->cpu, ns)) {
		add(sweep, CAUSE_HYPERVISOR, NULL, -1, ns);
		return;
	}
	if (sweep->status == STATUS_READY && lesser && chosen && sweep->prio < 100) {
		/* No scheduler chooses it otherwise. */
		add(sweep, CAUSE_THROTTLING, "real-time limit", -1, ns);
		return;
	}
	/* One that ran on held off the interrupt, or the switch. */
	if (cause.kind == CAUSE_THREAD && sweep->status == STATUS_READY && (chosen || !lesser))
		cause.kind = CAUSE_PREEMPTION;
	finding_add(sweep->finding, &cause);
}

/* No frame is on top, or one of a thread's work. */
static void share_task(struct sweep *sweep, uint64_t from, uint64_t to)
{
	const struct context *context = &sweep->context;
	bool idle = context->known && !context->pid;

	if (!context->known && sweep->status != STATUS_RUNS) {
		add(sweep, CAUSE_UNKNOWN, NULL, -1, to - from);
		return;
	}
	if (sweep->faulted &&
	    (sweep->status == STATUS_RUNS || sweep->status == STATUS_BLOCKED)) {
		add(sweep, CAUSE_FAULT, names_task(sweep->timeline->names, sweep->outlier->tid),
		    sweep->outlier->tid, to - from);
		return;
	}
	switch (sweep->status) {
	case STATUS_RUNS:
		extend_span(sweep, SPAN_USER, from, to);
		return;
	case STATUS_SLEEPS:
		if (idle)
			extend_span(sweep, SPAN_IDLE, from, to);
		else
			share_other(sweep, to - from);
		return;
	case STATUS_READY:
		if (!idle)
			share_other(sweep, to - from);
		else if (sweep->preempted ||
			 (context->idle >= 0 && context->idle_ns > sweep->ready_ns))
			add(sweep, CAUSE_THROTTLING, sweep->prio >= 0 && sweep->prio < 100 ?
			    "real-time limit" : "its group's limit", -1, to - from);
		else
			extend_span(sweep, SPAN_IDLE, from, to);
		return;
	case STATUS_BLOCKED:
		add(sweep, CAUSE_UNKNOWN, "it waited for something else", -1, to - from);
		return;
	default:
		add(sweep, CAUSE_UNKNOWN, NULL, -1, to - from);
	}
}

/* Of what happened on the CPU while nothing was told of it but the context. */
static void share_context(struct sweep *sweep, uint64_t from, uint64_t to)
{
	const struct frame *top = context_top(&sweep->context);

	/* What runs here does not matter to one that runs elsewhere. */
	if (sweep->status == STATUS_RUNS && sweep->where != sweep->outlier->cpu) {
		sweep_end_span(sweep);
		return;
	}
	if (sweep->status == STATUS_AWAY) {
		sweep_end_span(sweep);
		add(sweep, CAUSE_MIGRATION, names_task(sweep->timeline->names, sweep->mover), -1,
		    to - from);
		return;
	}
	if (top && top->type != TRACE_WORK_ENTRY) {
		sweep_end_span(sweep);
		if (is_nameless(top)) {
			sweep->nameless_ns += to - from;
			sweep->nameless = *top;
		} else {
			add_frame(sweep, top, to - from);
		}
		return;
	}
	if (sweep->status != STATUS_RUNS &&
	    !(sweep->context.known && !sweep->context.pid))
		sweep_end_span(sweep);
	share_task(sweep, from, to);
}

void sweep_share(struct sweep *sweep, uint64_t to)
{
	const struct survey *survey = &sweep->timeline->survey;
	uint64_t from = sweep->ns;

	if (to > sweep->outlier->to_ns)
		to = sweep->outlier->to_ns;
	if (to <= from)
		return;
	for (size_t i = 0; i < survey->nr_nmis; i++) {
		uint64_t begin = survey->nmis[i].from_ns, end = survey->nmis[i].to_ns;

		if (begin < from)
			begin = from;
		if (end > to)
			end = to;
		if (begin >= end)
			continue;
		if (begin > from)
			share_context(sweep, from, begin);
		sweep_end_span(sweep);
		add_frame(sweep, &(struct frame){
			.actor = { CAUSE_INTERRUPT, -1, survey->nmis[i].handler, NULL },
			.type = TRACE_NMI,
		}, end - begin);
		from = end;
	}
	if (from < to)
		share_context(sweep, from, to);
	sweep->ns = to;
}

void sweep_lose(struct sweep *sweep, uint64_t to)
{
	sweep_end_span(sweep);
	sweep_name_call(sweep);
	if (to <= sweep->ns)
		return;
	add(sweep, CAUSE_UNKNOWN, "lost", -1, to - sweep->ns);
	sweep->ns = to;
}

void sweep_end(struct sweep *sweep)
{
	struct below *below = sweep->timeline->below;
	int cpu = sweep->outlier->cpu;
	uint64_t ns;

	sweep_name_call(sweep);
	sweep_end_span(sweep);
	ns = sweep->hardware_ns;
	if (!ns)
		return;
	if (below_stolen(below, cpu, ns))
		add(sweep, CAUSE_HYPERVISOR, NULL, -1, ns);
	else if (below_heated(below, cpu))
		add(sweep, CAUSE_THROTTLING, "heat", -1, ns);
	else
		add(sweep, CAUSE_HARDWARE, NULL, -1, ns);
}
