// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "attribute/sweep.h"

/* It was switched out: for the sake of a migration? */
static bool leaves(struct sweep *sweep, size_t at)
{
	const struct survey *survey = &sweep->timeline->survey;

	for (size_t i = at + 1; i < survey->count; i++) {
		if (survey->moments[i].type == MOMENT_RUNS)
			return false;
		if (survey->moments[i].type != MOMENT_MIGRATED)
			continue;
		sweep->mover = survey->moments[i].by;
		return true;
	}
	return false;
}

static void happen(struct sweep *sweep, const struct moment *moment)
{
	size_t at = (size_t)(moment - sweep->timeline->survey.moments);

	sweep->prio = moment->prio;
	switch (moment->type) {
	case MOMENT_WOKEN:
		if (sweep->status == STATUS_RUNS || sweep->status == STATUS_READY)
			return;
		sweep->status = STATUS_READY;
		sweep->preempted = false;
		sweep->ready_ns = moment->ns;
		return;
	case MOMENT_RUNS:
		/* A page that was waited for is there, and mapped soon. */
		sweep->status = STATUS_RUNS;
		sweep->where = moment->cpu;
		return;
	case MOMENT_PREEMPTED:
		sweep->status = leaves(sweep, at) ? STATUS_AWAY : STATUS_READY;
		sweep->preempted = true;
		sweep->ready_ns = moment->ns;
		return;
	case MOMENT_BLOCKED:
		sweep->status = STATUS_BLOCKED;
		return;
	case MOMENT_MIGRATED:
		sweep->status = STATUS_AWAY;
		sweep->mover = moment->by;
		return;
	}
}

/* How it was when the outlier began. */
static void begin(struct sweep *sweep, const struct context *context)
{
	const struct survey *survey = &sweep->timeline->survey;
	const struct moment *first = survey->count ? survey->moments : NULL;

	sweep->prio = first ? first->prio : -1;
	sweep->where = sweep->outlier->cpu;
	if (context->known && context->pid == sweep->outlier->tid) {
		sweep->status = STATUS_RUNS;
	} else if (!first) {
		sweep->status = context->known ? STATUS_UNKNOWN : STATUS_RUNS;
	} else if (first->type == MOMENT_WOKEN) {
		sweep->status = STATUS_SLEEPS;
	} else if (first->type == MOMENT_PREEMPTED || first->type == MOMENT_BLOCKED) {
		sweep->status = STATUS_RUNS;
		sweep->where = first->cpu;
	} else if (first->type == MOMENT_MIGRATED) {
		sweep->status = STATUS_AWAY;
		sweep->mover = first->by;
	} else {
		sweep->status = STATUS_READY;
		sweep->preempted = true;
	}
}

/* Moments of other CPUs come between the events of this one. */
static void advance(struct sweep *sweep, uint64_t ns)
{
	const struct survey *survey = &sweep->timeline->survey;

	while (sweep->moment < survey->count && survey->moments[sweep->moment].ns <= ns) {
		const struct moment *moment = &survey->moments[sweep->moment++];

		sweep_share(sweep, moment->ns);
		happen(sweep, moment);
	}
	sweep_share(sweep, ns);
}

/* Nothing is known of the time until @ns. */
static void lose(struct sweep *sweep, uint64_t ns)
{
	uint64_t to = ns < sweep->outlier->to_ns ? ns : sweep->outlier->to_ns;

	sweep_lose(sweep, to);
	while (sweep->moment < sweep->timeline->survey.count &&
	       sweep->timeline->survey.moments[sweep->moment].ns <= to)
		happen(sweep, &sweep->timeline->survey.moments[sweep->moment++]);
}

static uint64_t count_lost(struct trace_store *store, const struct trace_walk *walk)
{
	if (walk->ns <= store->told_ns)
		return 0;
	store->told_ns = walk->ns;
	return walk->missed == TRACE_MISSED_SOME ? 1 : walk->missed;
}

/* An event within the outlier. */
static void take(struct sweep *sweep, const struct trace_event *event)
{
	struct names *names = sweep->timeline->names;
	struct actor actor;

	/* Of something whose begin was lost the end tells. */
	if (!sweep->context.known && !context_top(&sweep->context) &&
	    context_orphan(&sweep->context, event, names, &actor)) {
		struct frame frame = { .actor = actor, .type = TRACE_TYPES, .hard = true };

		sweep->context.frames[sweep->context.depth++] = frame;
		advance(sweep, event->ns);
		sweep->context.depth--;
	}
	context_learn(&sweep->context, event);
	advance(sweep, event->ns);
	if (event->type == TRACE_FAULT && event->pid == sweep->outlier->tid &&
	    !(context_top(&sweep->context) && context_top(&sweep->context)->hard)) {
		sweep_end_span(sweep);
		sweep->faulted = true;
	}
	context_next(&sweep->context, event, names);
	if (event->type == TRACE_CALL_ENTRY && context_top(&sweep->context))
		sweep->called = *context_top(&sweep->context);
	sweep_name_call(sweep);
}

/* All that is known of the CPU, walked over. */
static uint64_t walk_over(struct sweep *sweep, struct trace_store *store)
{
	const struct outlier *outlier = sweep->outlier;
	struct trace_event event;
	struct trace_walk walk;
	bool begun = false;
	uint64_t lost = 0;

	trace_walk_begin(&walk, store, sweep->timeline->readers, outlier->from_ns);
	sweep->context = walk.context;
	while (trace_walk_next(&walk, &event) && event.ns < outlier->to_ns) {
		if (walk.gap)
			context_forget(&sweep->context);
		if (event.ns < outlier->from_ns) {
			context_next(&sweep->context, &event, sweep->timeline->names);
			continue;
		}
		if (!begun)
			context_learn(&sweep->context, &event);
		if (!begun)
			begin(sweep, &sweep->context);
		begun = true;
		if (walk.gap) {
			lost += count_lost(store, &walk);
			advance(sweep, walk.gap_ns);
			lose(sweep, event.ns);
		}
		take(sweep, &event);
	}
	if (!begun)
		begin(sweep, &sweep->context);
	/* The one after the outlier, or none, may have a gap before it too. */
	if (walk.gap && walk.gap_ns < outlier->to_ns) {
		lost += count_lost(store, &walk);
		advance(sweep, walk.gap_ns > sweep->ns ? walk.gap_ns : sweep->ns);
		lose(sweep, outlier->to_ns);
	}
	return lost;
}

uint64_t timeline_share(struct timeline *timeline, struct finding *finding)
{
	struct sweep sweep = {
		.timeline = timeline, .finding = finding, .outlier = &finding->outlier,
		.ns = finding->outlier.from_ns, .span_state = -1,
	};
	struct trace_store *store = NULL;
	uint64_t lost = 0;

	for (size_t i = 0; i < timeline->count; i++)
		if (timeline->stores[i].follows && timeline->stores[i].cpu == finding->outlier.cpu)
			store = &timeline->stores[i];
	if (!store || finding->outlier.to_ns <= finding->outlier.from_ns)
		return 0;
	survey_take(&timeline->survey, sweep.outlier, timeline->stores, timeline->count,
		    timeline->readers);
	lost = walk_over(&sweep, store);
	/* What was not read yet is not known. */
	if (store->read_ns < sweep.outlier->to_ns) {
		advance(&sweep, store->read_ns);
		lose(&sweep, sweep.outlier->to_ns);
	}
	advance(&sweep, sweep.outlier->to_ns);
	sweep_end(&sweep);
	finding_sort(finding);
	return lost;
}
