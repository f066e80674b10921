// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "attribute/survey.h"

/* So long before the outlier its senders are looked for. */
#define REACH_NS UINT64_C(20000000)
/* A change of the frequency may end after it was told. */
#define FREQUENCY_REACH_NS UINT64_C(1000000)
/* Of prev_state, what says that it waits; above are flags. */
#define STATE_WAITS 0xff

/* What is looked at. */
static const uint64_t types = TRACE_BIT(TRACE_SWITCH) | TRACE_BIT(TRACE_WAKING) |
	TRACE_BIT(TRACE_MIGRATE) | TRACE_BIT(TRACE_IPI_SEND) | TRACE_BIT(TRACE_IPI_MASK) |
	TRACE_BIT(TRACE_IPI_RAISE) | TRACE_BIT(TRACE_CALL_QUEUE) | TRACE_BIT(TRACE_WORK_QUEUE) |
	TRACE_BIT(TRACE_FREQUENCY) | TRACE_BIT(TRACE_NMI) | TRACE_BIT(TRACE_STACK);

void survey_open(struct survey *survey)
{
	memset(survey, 0, sizeof(*survey));
	senders_open(&survey->senders);
}

void survey_close(struct survey *survey)
{
	senders_close(&survey->senders);
}

static void add(struct survey *survey, const struct trace_event *event, enum moment_type type,
		int cpu, int64_t prio)
{
	if (survey->count < SURVEY_MOMENTS)
		survey->moments[survey->count++] = (struct moment){
			event->ns, type, cpu, event->pid, (int)prio };
}

static void see_thread(struct survey *survey, const struct trace_event *event, int cpu, pid_t tid)
{
	const int64_t *n = event->n;

	switch (event->type) {
	case TRACE_WAKING:
		if (n[0] == tid)
			add(survey, event, MOMENT_WOKEN, cpu, n[1]);
		break;
	case TRACE_MIGRATE:
		if (n[0] == tid)
			add(survey, event, MOMENT_MIGRATED, cpu, n[1]);
		break;
	case TRACE_SWITCH:
		if (n[0] == tid)
			add(survey, event, n[2] & STATE_WAITS ? MOMENT_BLOCKED : MOMENT_PREEMPTED,
			    cpu, n[1]);
		if (n[3] == tid)
			add(survey, event, MOMENT_RUNS, cpu, n[4]);
		break;
	default:
		break;
	}
}

static void see_cpu(struct survey *survey, const struct trace_event *event, int cpu, int target)
{
	if (event->type == TRACE_FREQUENCY && event->n[1] == target &&
	    survey->nr_frequencies < SURVEY_SPANS) {
		survey->frequencies[survey->nr_frequencies].ns = event->ns;
		survey->frequencies[survey->nr_frequencies++].khz = (uint64_t)event->n[0];
	}
	if (event->type == TRACE_NMI && cpu == target && event->n[1] > 0 &&
	    (uint64_t)event->n[1] <= event->ns && survey->nr_nmis < SURVEY_SPANS) {
		survey->nmis[survey->nr_nmis].from_ns = event->ns - (uint64_t)event->n[1];
		survey->nmis[survey->nr_nmis].to_ns = event->ns;
		survey->nmis[survey->nr_nmis++].handler = (uint64_t)event->n[0];
	}
}

static int by_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

void survey_take(struct survey *survey, const struct outlier *outlier,
		 const struct trace_store *stores, size_t count,
		 const struct trace_readers *readers)
{
	uint64_t from_ns = outlier->from_ns > REACH_NS ? outlier->from_ns - REACH_NS : 0;

	survey->count = 0;
	survey->nr_nmis = 0;
	survey->nr_frequencies = 0;
	senders_clear(&survey->senders);
	for (size_t i = 0; i < count; i++) {
		struct trace_event event;
		struct trace_walk walk;

		trace_walk_begin(&walk, &stores[i], readers, from_ns);
		walk.types = types;
		while (trace_walk_next(&walk, &event) &&
		       event.ns <= outlier->to_ns + FREQUENCY_REACH_NS) {
			if (event.ns + FREQUENCY_REACH_NS >= outlier->from_ns)
				see_cpu(survey, &event, stores[i].cpu, outlier->cpu);
			if (event.ns > outlier->to_ns)
				continue;
			if (event.ns >= outlier->from_ns)
				see_thread(survey, &event, stores[i].cpu, outlier->tid);
			senders_see(&survey->senders, &event, stores[i].cpu, outlier->cpu);
		}
	}
	qsort(survey->moments, survey->count, sizeof(*survey->moments), by_time);
	senders_sort(&survey->senders);
}
