// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "watch/route.h"
#include "watch/span.h"

/* More interrupts a second than any CPU can take. */
#define FASTEST 1e7
#define MOST (UINT64_C(1) << 31)	/* half of what the kernel's 32 bits hold */

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

/* Which CPUs were there, and which of the guarded ones were not. */
static void find_cpus(struct span *span, const struct interrupts *before,
		      const struct interrupts *now)
{
	struct cpulist was = { .given = true }, is = { .given = true }, once;

	for (size_t i = 0; i < before->columns; i++)
		cpulist_add(&was, before->cpus[i]);
	for (size_t i = 0; i < now->columns; i++)
		cpulist_add(&is, now->cpus[i]);
	span->seen = span->came = is;
	cpulist_minus(&span->came, &was);
	cpulist_minus(&span->seen, &span->came);
	span->left = was;
	cpulist_minus(&span->left, &is);
	span->unseen = span->guard->cpus;
	cpulist_minus(&span->unseen, &span->seen);
	for (int cpu = -1; (cpu = cpulist_next(&span->unseen, cpu)) >= 0;) {
		once = (struct cpulist){ 0 };
		cpulist_add(&once, cpu);
		/* What was offline at both looks took nothing, but who names it wants it seen. */
		if (!cpulist_has(&span->came, cpu) && !cpulist_has(&span->left, cpu) &&
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
		      const uint64_t *came, const long *place)
{
	struct span_list *list = &span->lists[which];
	int class = class_number(row->row->class);

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
	if (!row->came)
		return;
	row->of = calloc(list->now->columns, sizeof(*row->of));
	if (!row->of)
		exit(error_say("no memory"));
	for (size_t i = 0; i < list->now->columns; i++)
		row->of[i] = place[i] < 0 ? 0 : came[i];
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

static void make_list(struct span *span, enum look_list which, const struct interrupts *before,
		      const struct interrupts *now)
{
	struct span_list *list = &span->lists[which];
	double most = span->seconds * FASTEST;
	uint64_t *came = calloc(now->columns + 1, sizeof(*came));
	long *columns, *place;

	if (!came)
		exit(error_say("no memory"));
	list->now = now;
	list->known = before->known && now->known;
	columns = interrupts_columns(now, before);
	place = places(span, now);
	for (size_t i = 0; i < now->count && list->known; i++) {
		const struct interrupt *old = interrupts_find(before, now->rows[i].label, i);
		struct span_row *row = ARRAY_ADD(list->rows, list->count);
		bool same = interrupt_came(&now->rows[i], old, columns, now->columns,
					   most < MOST ? (uint64_t)most : MOST, came);

		row->row = &now->rows[i];
		row->begin = !old ? SPAN_APPEARED : same ? SPAN_GOES_ON : SPAN_ANEW;
		count_row(span, which, row, came, place);
	}
	if (list->count)
		qsort(list->rows, list->count, sizeof(*list->rows), worst_first);
	free(place);
	free(columns);
	free(came);
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

static void find_gone(struct span *span, const struct interrupts *before,
		      const struct interrupts *now)
{
	for (size_t i = 0; i < before->count; i++)
		if (!interrupts_find(now, before->rows[i].label, i))
			*ARRAY_ADD(span->gone, span->nr_gone) =
				text_format("%s", before->rows[i].label);
}

void span_make(struct span *span, const struct look *before, const struct look *now,
	       double seconds, const struct guard *guard)
{
	const struct interrupts *was = before->lists, *is = now->lists;

	*span = (struct span){ .seconds = seconds, .now = now, .guard = guard };
	find_cpus(span, &was[LOOK_INTERRUPTS], &is[LOOK_INTERRUPTS]);
	for (int cpu = -1; (cpu = cpulist_next(&span->seen, cpu)) >= 0;) {
		struct span_cpu *one = ARRAY_ADD(span->cpus, span->nr_cpus);

		one->cpu = cpu;
		one->guarded = cpulist_has(&guard->cpus, cpu);
	}
	for (int i = 0; i < LOOK_LISTS; i++)
		make_list(span, (enum look_list)i, &was[i], &is[i]);
	find_gone(span, &was[LOOK_INTERRUPTS], &is[LOOK_INTERRUPTS]);
	if (span->nr_cpus)
		qsort(span->cpus, span->nr_cpus, sizeof(*span->cpus), busiest_first);
}

void span_free(struct span *span)
{
	for (size_t i = 0; i < LOOK_LISTS; i++) {
		for (size_t k = 0; k < span->lists[i].count; k++) {
			free(span->lists[i].rows[k].of);
			route_free(span->lists[i].rows[k].route);
		}
		free(span->lists[i].rows);
	}
	for (size_t i = 0; i < span->nr_gone; i++)
		free(span->gone[i]);
	free(span->gone);
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
