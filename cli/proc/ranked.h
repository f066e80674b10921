/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who wanted an isolated CPU, the worst first, in words. */
#ifndef RANKED_H
#define RANKED_H

#include "proc/proc.h"

struct ranked_sender {
	int cpu;
	const struct proc_sender *sender;	/* its names and stack */
	struct counts counts;			/* in the span that is looked at */
	uint64_t longest_ns;			/* 0: none, or not known for the span */
};

struct ranked_senders {
	struct ranked_sender *list;
	size_t count;
};

/*
 * Adds what the senders of @now asked for since @before, NULL for the beginning of
 * the isolation; those that asked for nothing are left out.
 */
void ranked_add(struct ranked_senders *ranked, const struct proc_cpu *now,
		const struct proc_cpu *before);

/*
 * The order: who caused deadline misses, then immediate deliveries, then planned
 * interruptions, then the longest wait, the most queued requests, the most of all else.  It is
 * that of status, why, run and export; each shows as many as it has room for.
 */
void ranked_rank(struct ranked_senders *ranked);

void ranked_free(struct ranked_senders *ranked);

/* "queued 40 times, longest 1.2 ms: kworker/1:1 wanted to run (kind thread)"; to be freed. */
char *sender_words(const struct ranked_sender *entry);

/* What a request is in words: "kworker/1:1 wanted to run"; to be freed. */
char *sender_deed(const char *comm, const char *kind, const char *callback);

#endif
