/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a walk over an outlier, and to whom a piece of its time goes. */
#ifndef SWEEP_H
#define SWEEP_H

#include "attribute/timeline.h"

/* The measuring thread. */
enum status {
	STATUS_RUNS,
	STATUS_SLEEPS,		/* until its timer */
	STATUS_READY,		/* it would run, and something else does */
	STATUS_BLOCKED,		/* it waits for something */
	STATUS_AWAY,		/* on its way to another CPU */
	STATUS_UNKNOWN,
};

enum span_type { SPAN_NONE, SPAN_USER, SPAN_IDLE };

struct sweep {
	struct timeline *timeline;
	struct finding *finding;
	const struct outlier *outlier;
	struct context context;
	uint64_t ns;		/* shared out until then */
	size_t moment;		/* the next one */
	enum status status;
	int where;		/* the CPU it runs on */
	bool preempted;		/* it is ready because it was switched out */
	uint64_t ready_ns;
	int prio;		/* -1: not known */
	int mover;		/* who migrates it */
	bool faulted;		/* it runs in the kernel since a page fault, or waits for the page */
	/* What has no owner yet, in one piece. */
	enum span_type span;
	uint64_t span_from_ns, span_ns;
	int span_state;		/* idle */
	/* Time in a call interrupt before it is known what it calls. */
	uint64_t nameless_ns;
	struct frame nameless, called;
	uint64_t hardware_ns;
};

/* All until @to belongs to what is so now; NMIs in it are cut out. */
void sweep_share(struct sweep *sweep, uint64_t to);

/* Nothing is known of the time until @to. */
void sweep_lose(struct sweep *sweep, uint64_t to);

/* What was put off until it could be named is named. */
void sweep_name_call(struct sweep *sweep);
void sweep_end_span(struct sweep *sweep);

/* The end: what is left without an owner gets one. */
void sweep_end(struct sweep *sweep);

#endif
