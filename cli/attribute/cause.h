/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Causes of outliers: of one, and of all together. */
#ifndef CAUSE_H
#define CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "statistics/outlier.h"

#define CAUSE_STACK 16		/* innermost calls of a sender's */
#define CAUSES_EACH 16		/* of one outlier, those that took the most */
#define CAUSES_RANKED 512

/* In the order of the schema. */
enum cause_kind {
	CAUSE_INTERRUPT, CAUSE_SOFTIRQ, CAUSE_KWORKER, CAUSE_THREAD, CAUSE_IPI, CAUSE_FAULT,
	CAUSE_MIGRATION, CAUSE_THROTTLING, CAUSE_PREEMPTION, CAUSE_TIMER, CAUSE_TEXT_PATCH,
	CAUSE_FREQUENCY, CAUSE_IDLE_EXIT, CAUSE_HARDWARE, CAUSE_HYPERVISOR, CAUSE_UNKNOWN,
	CAUSE_KINDS,
};

extern const char *const cause_names[CAUSE_KINDS];

/* All texts belong to the names of the attribution. */
struct cause {
	enum cause_kind kind;
	const char *who;	/* NULL: not told */
	int pid;		/* of a thread; -1: none */
	const char *sender;	/* NULL: not told */
	int sender_cpu;		/* -1: not told */
	uint64_t ns;
	const char *stack[CAUSE_STACK];
	size_t nr_stack;
};

/* An outlier and its causes, what took the most first. */
struct finding {
	struct outlier outlier;
	uint64_t at_ns;		/* CLOCK_REALTIME at its begin */
	uint64_t explained_ns;	/* the sum of its causes, at most its length */
	struct cause causes[CAUSES_EACH];
	size_t count;
};

/* The same kind and who, in all outliers. */
struct cause_total {
	enum cause_kind kind;
	const char *who;
	uint64_t count;		/* outliers */
	uint64_t total_ns, worst_ns;
	uint64_t worst_at_ns;	/* CLOCK_REALTIME */
};

struct ranking {
	struct cause_total totals[CAUSES_RANKED];
	size_t count;
	struct finding **findings;	/* the worst, the worst first */
	size_t nr_findings, most;
	struct finding *room;		/* where these are */
};

/* Adds @ns of @cause to what is the same in @finding; what took the least makes way. */
void finding_add(struct finding *finding, const struct cause *cause);

/* All of it is added: the order, and the sum. */
void finding_sort(struct finding *finding);

/* The @most worst findings are kept. */
void ranking_open(struct ranking *ranking, size_t most);
void ranking_close(struct ranking *ranking);
void ranking_add(struct ranking *ranking, const struct finding *finding);

/*
 * What took the most time first.  That is another order than that of senders (proc/ranked.h):
 * of those the kernel counts what they asked for, and has no times but the longest.
 */
void ranking_sort(struct ranking *ranking);

#endif
