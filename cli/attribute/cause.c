// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "attribute/cause.h"
#include "attribute/names.h"
#include "base/error.h"

const char *const cause_names[CAUSE_KINDS] = {
	[CAUSE_INTERRUPT] = "interrupt", [CAUSE_SOFTIRQ] = "softirq", [CAUSE_KWORKER] = "kworker",
	[CAUSE_THREAD] = "thread", [CAUSE_IPI] = "ipi", [CAUSE_FAULT] = "page fault",
	[CAUSE_MIGRATION] = "migration", [CAUSE_THROTTLING] = "throttling",
	[CAUSE_PREEMPTION] = "preemption", [CAUSE_TIMER] = "timer",
	[CAUSE_TEXT_PATCH] = "text patch", [CAUSE_FREQUENCY] = "frequency",
	[CAUSE_IDLE_EXIT] = "idle exit", [CAUSE_HARDWARE] = "hardware",
	[CAUSE_HYPERVISOR] = "hypervisor", [CAUSE_UNKNOWN] = "unknown",
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

void finding_add(struct finding *finding, const struct cause *cause)
{
	struct cause *least = NULL;

	if (!cause->ns)
		return;
	for (size_t i = 0; i < finding->count; i++) {
		struct cause *one = &finding->causes[i];

		if (!least || one->ns < least->ns)
			least = one;
		if (one->kind != cause->kind || one->pid != cause->pid ||
		    one->sender_cpu != cause->sender_cpu || !same_text(one->who, cause->who) ||
		    !same_text(one->sender, cause->sender))
			continue;
		one->ns += cause->ns;
		if (!one->nr_stack && cause->nr_stack) {
			memcpy(one->stack, cause->stack, sizeof(one->stack));
			one->nr_stack = cause->nr_stack;
		}
		return;
	}
	if (finding->count < CAUSES_EACH)
		finding->causes[finding->count++] = *cause;
	else if (least->ns < cause->ns)
		*least = *cause;
}

/*
 * The order of causes, of one outlier as of all: what took the most time first; of equals the
 * name of the kind, and then who, decides.  Without a name comes first.  isolator-report has
 * the same (merge.py), and a test of both sides holds them together.
 */
static int order(uint64_t a_ns, enum cause_kind a_kind, const char *a_who,
		 uint64_t b_ns, enum cause_kind b_kind, const char *b_who)
{
	int names = strcmp(cause_names[a_kind], cause_names[b_kind]);

	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	if (names)
		return names;
	return a_who && b_who ? strcmp(a_who, b_who) : !!a_who - !!b_who;
}

static int by_time(const void *left, const void *right)
{
	const struct cause *a = left, *b = right;

	return order(a->ns, a->kind, a->who, b->ns, b->kind, b->who);
}

void finding_sort(struct finding *finding)
{
	qsort(finding->causes, finding->count, sizeof(*finding->causes), by_time);
	finding->explained_ns = 0;
	for (size_t i = 0; i < finding->count; i++)
		finding->explained_ns += finding->causes[i].ns;
}

void ranking_open(struct ranking *ranking, size_t most)
{
	memset(ranking, 0, sizeof(*ranking));
	ranking->most = most;
	ranking->findings = calloc(most, sizeof(*ranking->findings));
	ranking->room = calloc(most, sizeof(*ranking->room));
	if (!ranking->findings || !ranking->room)
		exit(error_say("no memory for the worst %zu outliers; ask for fewer", most));
}

void ranking_close(struct ranking *ranking)
{
	free(ranking->findings);
	free(ranking->room);
	memset(ranking, 0, sizeof(*ranking));
}

/* What no longer fits is counted together, by its kind. */
static struct cause_total *total(struct ranking *ranking, enum cause_kind kind, const char *who)
{
	struct cause_total *found;

	for (size_t i = 0; i < ranking->count; i++)
		if (ranking->totals[i].kind == kind && same_text(ranking->totals[i].who, who))
			return &ranking->totals[i];
	if (ranking->count >= CAUSES_RANKED - CAUSE_KINDS && !same_text(who, NAMES_OTHERS))
		return total(ranking, kind, NAMES_OTHERS);
	found = &ranking->totals[ranking->count++];
	*found = (struct cause_total){ .kind = kind, .who = who };
	return found;
}

static void add_totals(struct ranking *ranking, const struct finding *finding)
{
	for (size_t i = 0; i < finding->count; i++) {
		const struct cause *cause = &finding->causes[i];
		struct cause_total *sum = total(ranking, cause->kind, cause->who);
		uint64_t ns = cause->ns;
		bool before = false;

		/* The same by another sender or thread is the same outlier. */
		for (size_t k = 0; k < finding->count; k++) {
			const struct cause *other = &finding->causes[k];

			if (k == i || other->kind != cause->kind ||
			    !same_text(other->who, cause->who))
				continue;
			before |= k < i;
			ns += other->ns;
		}
		if (before)
			continue;
		sum->count++;
		sum->total_ns += ns;
		if (ns > sum->worst_ns) {
			sum->worst_ns = ns;
			sum->worst_at_ns = finding->at_ns;
		}
	}
}

void ranking_add(struct ranking *ranking, const struct finding *finding)
{
	size_t at = ranking->nr_findings;
	struct finding *place;

	add_totals(ranking, finding);
	/* Of two that are equal the first stays before. */
	while (at && ranking->findings[at - 1]->outlier.value_ns < finding->outlier.value_ns)
		at--;
	if (at == ranking->most)
		return;
	/* The least of them makes way. */
	if (ranking->nr_findings < ranking->most)
		place = &ranking->room[ranking->nr_findings++];
	else
		place = ranking->findings[ranking->most - 1];
	memmove(&ranking->findings[at + 1], &ranking->findings[at],
		(ranking->nr_findings - 1 - at) * sizeof(*ranking->findings));
	ranking->findings[at] = place;
	*place = *finding;
}

static int by_total(const void *left, const void *right)
{
	const struct cause_total *a = left, *b = right;

	return order(a->total_ns, a->kind, a->who, b->total_ns, b->kind, b->who);
}

void ranking_sort(struct ranking *ranking)
{
	qsort(ranking->totals, ranking->count, sizeof(*ranking->totals), by_total);
}
