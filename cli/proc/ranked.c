// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/term.h"
#include "base/text.h"
#include "proc/ranked.h"

void ranked_add(struct ranked_senders *ranked, const struct proc_cpu *now,
		const struct proc_cpu *before)
{
	for (size_t i = 0; i < now->nr_senders; i++) {
		const struct proc_sender *sender = &now->senders[i];
		const struct proc_sender *old = proc_sender(before, sender);
		struct ranked_sender entry = { .cpu = now->cpu, .sender = sender };
		bool more = counts_since(&sender->counts, old ? &old->counts : NULL,
					 &entry.counts);

		/* The kernel keeps a maximum: only one that grew is of this span. */
		if (!old || !more || sender->longest_ns > old->longest_ns)
			entry.longest_ns = sender->longest_ns;
		if (counts_sum(&entry.counts))
			*ARRAY_ADD(ranked->list, ranked->count) = entry;
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
	const struct ranked_sender *a = left, *b = right;
	const int orders[] = {
		more_first(a->counts.n[MISSED], b->counts.n[MISSED]),
		more_first(a->counts.n[IMMEDIATE], b->counts.n[IMMEDIATE]),
		more_first(a->counts.n[PLANNED], b->counts.n[PLANNED]),
		more_first(a->longest_ns, b->longest_ns),
		more_first(a->counts.n[QUEUED], b->counts.n[QUEUED]),
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

void ranked_rank(struct ranked_senders *ranked)
{
	if (ranked->count)
		qsort(ranked->list, ranked->count, sizeof(*ranked->list), worse_first);
}

void ranked_free(struct ranked_senders *ranked)
{
	free(ranked->list);
	*ranked = (struct ranked_senders){ 0 };
}

char *sender_deed(const char *comm, const char *kind, const char *callback)
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
		{ "clock", "found CPU limits or CPU timers to check" },
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

/* "queued 40 times", behind a comma if something stands before. */
static void put_count(FILE *out, const char *verb, uint64_t n, bool *begun)
{
	if (!n)
		return;
	fprintf(out, "%s%s %" PRIu64 " time%s", *begun ? ", " : "", verb, n, n == 1 ? "" : "s");
	*begun = true;
}

char *sender_words(const struct ranked_sender *entry)
{
	static const enum count order[] = {
		MISSED, IMMEDIATE, PLANNED, QUEUED, DEFERRED, EXCLUDED, REFUSED
	};
	char *deed = sender_deed(entry->sender->comm, entry->sender->kind,
				 entry->sender->callback);
	char time[TERM_TIME], *text;
	bool begun = false;
	size_t size;
	FILE *out = text_open(&text, &size);

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		put_count(out, count_names[order[i]], entry->counts.n[order[i]], &begun);
		/* Beside what was queued: what missed its deadline had waited too. */
		if (order[i] == QUEUED && entry->longest_ns)
			fprintf(out, "%slongest %s", begun ? ", " : "",
				term_time(time, entry->longest_ns));
	}
	fprintf(out, ": %s", deed);
	fclose(out);
	free(deed);
	return text;
}
