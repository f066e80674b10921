// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "watch/route.h"
#include "watch/span.h"

const char *const span_verdicts[] = {
	[SPAN_NO_LIMIT] = "none",
	[SPAN_PASS] = "pass",
	[SPAN_EXCEEDED] = "exceeded",
	[SPAN_INCONCLUSIVE] = "inconclusive",
};

double span_rate(const struct span *span, uint64_t count)
{
	return (double)count / span->seconds;
}

static int class_number(const char *class)
{
	int i = 0;

	while (strcmp(interrupt_classes[i], class))
		i++;
	return i;
}

/* Which of the guarded CPUs were not there at both looks. */
static void find_unseen(struct span *span)
{
	struct cpulist once;

	span->unseen = span->guard->cpus;
	cpulist_minus(&span->unseen, &span->since.both);
	for (int cpu = -1; (cpu = cpulist_next(&span->unseen, cpu)) >= 0;) {
		once = (struct cpulist){ 0 };
		cpulist_add(&once, cpu);
		/* What was offline at both looks took nothing, but who names it wants it seen. */
		if (!cpulist_has(&span->since.came, cpu) && !cpulist_has(&span->since.left, cpu) &&
		    !cpulist_has(&span->guard->of[GUARD_NAMED], cpu))
			cpulist_minus(&span->unseen, &once);
	}
}

/* Where in @span the CPU of each column is; -1: nowhere.  To be freed. */
static long *places(const struct span *span, const struct interrupts *now)
{
	long *place = NULL;
	size_t count = 0, at = 0;

	/* Both ascend, as long as the CPUs are not sorted yet. */
	while (count < now->columns) {
		long *one = ARRAY_ADD(place, count);

		while (at < span->nr_cpus && span->cpus[at].cpu < now->cpus[count - 1])
			at++;
		*one = at < span->nr_cpus && span->cpus[at].cpu == now->cpus[count - 1] ?
			(long)at : -1;
	}
	return place;
}

/* Counts @row to its CPUs and its class. */
static void count_row(struct span *span, enum look_list which, struct span_row *row,
		      const long *place)
{
	struct span_list *list = &span->lists[which];
	int class = class_number(row->row->class);
	const uint64_t *came = row->row->of;

	for (size_t i = 0; i < list->now->columns; i++) {
		struct span_cpu *cpu;

		if (!came[i] || place[i] < 0)
			continue;
		cpu = &span->cpus[place[i]];
		cpu->of[which] += came[i];
		row->came += came[i];
		if (cpu->guarded)
			row->hits += came[i];
		if (which == LOOK_INTERRUPTS)
			cpu->classes[class] += came[i];
	}
	list->came += row->came;
	list->hits += row->hits;
	if (which == LOOK_INTERRUPTS) {
		span->classes[class] += row->came;
		span->class_hits[class] += row->hits;
	}
}

static int worst_first(const void *left, const void *right)
{
	const struct span_row *a = left, *b = right;

	if (a->hits != b->hits)
		return (a->hits < b->hits) - (a->hits > b->hits);
	if (a->came != b->came)
		return (a->came < b->came) - (a->came > b->came);
	/* As the file has them. */
	return (a->row > b->row) - (a->row < b->row);
}

static void make_list(struct span *span, enum look_list which)
{
	struct span_list *list = &span->lists[which];
	long *place;

	list->now = &span->since.lists[which];
	list->known = list->now->known;
	place = places(span, list->now);
	for (size_t i = 0; i < list->now->count && list->known; i++) {
		struct span_row *row = ARRAY_ADD(list->rows, list->count);

		row->row = &list->now->rows[i];
		count_row(span, which, row, place);
	}
	if (list->count)
		qsort(list->rows, list->count, sizeof(*list->rows), worst_first);
	free(place);
}

static int busiest_first(const void *left, const void *right)
{
	const struct span_cpu *a = left, *b = right;

	if (a->guarded != b->guarded)
		return b->guarded - a->guarded;
	for (size_t i = 0; i < LOOK_LISTS; i++)
		if (a->of[i] != b->of[i])
			return (a->of[i] < b->of[i]) - (a->of[i] > b->of[i]);
	return a->cpu - b->cpu;
}

void span_make(struct span *span, const struct look *before, const struct look *now,
	       double seconds, const struct guard *guard)
{
	*span = (struct span){ .seconds = seconds, .now = now, .guard = guard };
	since_make(&span->since, before, now, seconds);
	find_unseen(span);
	for (int cpu = -1; (cpu = cpulist_next(&span->since.both, cpu)) >= 0;) {
		struct span_cpu *one = ARRAY_ADD(span->cpus, span->nr_cpus);

		one->cpu = cpu;
		one->guarded = cpulist_has(&guard->cpus, cpu);
	}
	for (int i = 0; i < LOOK_LISTS; i++)
		make_list(span, (enum look_list)i);
	if (span->nr_cpus)
		qsort(span->cpus, span->nr_cpus, sizeof(*span->cpus), busiest_first);
}

void span_free(struct span *span)
{
	for (size_t i = 0; i < LOOK_LISTS; i++) {
		for (size_t k = 0; k < span->lists[i].count; k++)
			route_free(span->lists[i].rows[k].route);
		free(span->lists[i].rows);
	}
	since_free(&span->since);
	free(span->cpus);
	*span = (struct span){ 0 };
}

const struct span_cpu *span_worst(const struct span *span)
{
	/* They come first, the busiest before all. */
	return span->nr_cpus && span->cpus[0].guarded ? &span->cpus[0] : NULL;
}

enum span_verdict span_judge(const struct span *span, unsigned int limit)
{
	const struct span_cpu *worst = span_worst(span);

	if (worst && (double)worst->of[LOOK_INTERRUPTS] > limit * span->seconds)
		return SPAN_EXCEEDED;
	return worst && cpulist_empty(&span->unseen) ? SPAN_PASS : SPAN_INCONCLUSIVE;
}
