/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that watches while others measure: it starts one on each CPU, reads what
 * they have each second, writes and shows it, and ends them.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "base/cpulist.h"
#include "sampling/dma.h"
#include "sampling/method.h"
#include "sampling/policy.h"
#include "sampling/result.h"

struct order {
	const char *root;		/* of the machine's files */
	const struct method *method;
	const void *options;		/* the method's */
	struct cpulist cpus;
	uint64_t duration_ns;		/* 0: by samples only */
	uint64_t samples;		/* end after so many on each CPU; 0: by time only */
	uint64_t period_ns;
	struct policy policy;
	unsigned int digits;
	int64_t dma_us;			/* -1: not asked for */
	double step_ns;			/* of a tracer's values */
	uint64_t threshold_ns;		/* values above go to rings; UINT64_MAX: none */
	const char *output;		/* written each second; may be NULL */
	/* Each second, if not NULL. */
	void (*show)(const struct result *result);
};

struct seat;
struct sampler;

/* Who looks at the rings: from before the first value of a part to after the last. */
struct sampler_watch {
	void (*ready)(struct sampler *sampler);
	void (*ended)(struct sampler *sampler);
};

struct sampler {
	const struct order *order;
	struct result *result;
	struct timebase timebase;
	struct dma dma;
	struct seat *seats;		/* of the CPUs */
	size_t count;
	char *memory;			/* of all series */
	size_t size;
	struct cpulist before;		/* where this thread might run */
	int event;			/* a thread has ended */
	bool armed;
	const struct sampler_watch *watch;	/* NULL: nobody; may change between parts */
};

/*
 * Gets all that is needed, and says in @result what was asked for and got.  0; 1: what
 * was insisted on does not hold, @result says so; or -1, said why.  sampler_close() is
 * to follow in each case.
 */
int sampler_open(struct sampler *sampler, const struct order *order, struct result *result);

/*
 * One part of the run, which is added to @result, with @load, which runs meanwhile, or
 * NULL.  0, also if a signal ended it early, or -1, said why.
 */
int sampler_run(struct sampler *sampler, const char *load);

/* The ring of the CPU with this index, to be emptied while it runs. */
struct outlier_ring *sampler_ring(struct sampler *sampler, size_t index);

/*
 * What was set is undone; @result keeps what was found.  False, said why: not all is as it
 * was.
 */
bool sampler_close(struct sampler *sampler);

#endif
