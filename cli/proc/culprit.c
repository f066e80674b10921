// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/term.h"
#include "base/text.h"
#include "proc/culprit.h"

void culprits_add(struct culprits *culprits, const struct proc_cpu *now,
		  const struct proc_cpu *before)
{
	for (size_t i = 0; i < now->nr_senders; i++) {
		const struct proc_sender *sender = &now->senders[i];
		const struct proc_sender *old = proc_sender(before, sender);
		struct culprit culprit = { .cpu = now->cpu, .sender = sender };
		bool more = counts_since(&sender->counts, old ? &old->counts : NULL,
					 &culprit.counts);

		/* The kernel keeps a maximum: only one that grew is of this span. */
		if (!old || !more || sender->longest_ns > old->longest_ns)
			culprit.longest_ns = sender->longest_ns;
		if (counts_sum(&culprit.counts))
			*ARRAY_ADD(culprits->list, culprits->count) = culprit;
	}
}

/* More of it comes first. */
static int more_first(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int worse_first(const void *left, const void *right)
{
	const struct culprit *a = left, *b = right;
	const int orders[] = {
		more_first(a->counts.n[BREACHED], b->counts.n[BREACHED]),
		more_first(a->counts.n[BROKEN], b->counts.n[BROKEN]),
		more_first(a->counts.n[PLANNED], b->counts.n[PLANNED]),
		more_first(a->longest_ns, b->longest_ns),
		more_first(a->counts.n[HELD], b->counts.n[HELD]),
		more_first(counts_sum(&a->counts), counts_sum(&b->counts)),
		/* Equals always stand in the same order. */
		names(a->sender->comm, b->sender->comm),
		names(a->sender->callback, b->sender->callback),
		names(a->sender->kind, b->sender->kind),
		a->cpu - b->cpu,
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (orders[i])
			return orders[i];
	return 0;
}

void culprits_rank(struct culprits *culprits)
{
	if (culprits->count)
		qsort(culprits->list, culprits->count, sizeof(*culprits->list), worse_first);
}

void culprits_free(struct culprits *culprits)
{
	free(culprits->list);
	*culprits = (struct culprits){ 0 };
}

char *culprit_deed(const char *comm, const char *kind, const char *callback)
{
	/* What a sender did, by kind, where no function says it better. */
	static const struct {
		const char *kind, *deed;
	} deeds[] = {
		{ "call", "asked for a call" },
		{ "wake", "woke a task that last ran there" },
		{ "resched", "asked to preempt the task" },
		{ "signal", "sent the task a signal, or traced it" },
		{ "thread", "asked to run" },
		{ "timer", "saw that a timer of this CPU had expired" },
		{ "clock", "saw that limits or CPU timers were to be checked" },
	};
	const char *deed = NULL;
	size_t size;
	char *text;
	FILE *out;

	if (!strcmp(kind, "others"))
		comm = "senders that the kernel had no room to name";
	for (size_t i = 0; i < ARRAY_SIZE(deeds); i++)
		if (!strcmp(kind, deeds[i].kind))
			deed = deeds[i].deed;
	out = text_open(&text, &size);
	fprintf(out, "%s", *comm ? comm : "a task without a name");
	if (callback)
		fprintf(out, " asked for %s (kind %s)", callback, kind);
	else if (deed)
		fprintf(out, " %s (kind %s)", deed, kind);
	else if (strcmp(kind, "others"))
		fprintf(out, " (kind %s)", kind);
	fclose(out);
	return text;
}

/* "held 40 times", behind a comma if something stands before. */
static void put_count(FILE *out, const char *verb, uint64_t n, bool *begun)
{
	if (!n)
		return;
	fprintf(out, "%s%s %" PRIu64 " time%s", *begun ? ", " : "", verb, n, n == 1 ? "" : "s");
	*begun = true;
}

char *culprit_words(const struct culprit *culprit)
{
	static const enum count order[] = {
		BREACHED, BROKEN, PLANNED, HELD, DEFERRED, EXCLUDED, REFUSED
	};
	char *deed = culprit_deed(culprit->sender->comm, culprit->sender->kind,
				  culprit->sender->callback);
	char time[TERM_TIME], *text;
	bool begun = false;
	size_t size;
	FILE *out = text_open(&text, &size);

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		put_count(out, count_names[order[i]], culprit->counts.n[order[i]], &begun);
		/* Where the holds stand, or would: what breached had waited too. */
		if (order[i] == HELD && culprit->longest_ns)
			fprintf(out, "%slongest %s", begun ? ", " : "",
				term_time(time, culprit->longest_ns));
	}
	fprintf(out, ": %s", deed);
	fclose(out);
	free(deed);
	return text;
}
