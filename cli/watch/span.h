/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What came between two looks, and how much of it to CPUs that shall be left alone. */
#ifndef SPAN_H
#define SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/look.h"
#include "watch/guard.h"

#define SPAN_CLASSES 9	/* as many as interrupt_classes has */

struct route;

struct span_row {
	const struct interrupt *row;	/* what came of it */
	uint64_t came;			/* to all CPUs that were there at both looks */
	uint64_t hits;			/* to those that are guarded */
	struct route *route;		/* where it goes, and what helps (route.h); NULL: not asked */
};

struct span_list {
	bool known;
	const struct interrupts *now;	/* what came, in the rows and columns of the later look */
	struct span_row *rows;	/* the most hits first, then the most that came */
	size_t count;
	uint64_t came, hits;
};

struct span_cpu {
	int cpu;
	bool guarded;
	uint64_t of[LOOK_LISTS];		/* interrupts and softirqs that came */
	uint64_t classes[SPAN_CLASSES];		/* interrupts alone */
};

struct span {
	double seconds;
	const struct look *now;
	const struct guard *guard;
	struct since since;
	struct cpulist unseen;	/* guarded, and nobody knows what came there */
	struct span_list lists[LOOK_LISTS];
	uint64_t classes[SPAN_CLASSES], class_hits[SPAN_CLASSES];	/* interrupts */
	struct span_cpu *cpus;	/* those seen; guarded ones first, then the busiest */
	size_t nr_cpus;
};

/* @now and @guard stay where they are as long as the span. */
void span_make(struct span *span, const struct look *before, const struct look *now,
	       double seconds, const struct guard *guard);

void span_free(struct span *span);

/* A second. */
double span_rate(const struct span *span, uint64_t count);

/* Most interrupts of any guarded CPU; NULL: none was seen. */
const struct span_cpu *span_worst(const struct span *span);

enum span_verdict { SPAN_NO_LIMIT, SPAN_PASS, SPAN_EXCEEDED, SPAN_INCONCLUSIVE };

/* As they are shown, and in JSON. */
extern const char *const span_verdicts[];

/*
 * More than @limit interrupts a second on a guarded CPU?  Inconclusive: not as far as is
 * known, but there is a guarded CPU of which nothing is known, or none at all.
 */
enum span_verdict span_judge(const struct span *span, unsigned int limit);

#endif
