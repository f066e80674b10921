/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A method of measuring: what the thread of each CPU does, and which series it fills.
 * All else, from the thread's priority to the result, is the sampler's.
 */
#ifndef METHOD_H
#define METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cpulist.h"
#include "sampling/result.h"
#include "statistics/series.h"
#include "statistics/timebase.h"

#define METHOD_SERIES 8	/* at least one more than any method has */
#define METHOD_FAILURE 512

struct worker;

struct method {
	const char *name;			/* a word of the schema */
	const char *series[METHOD_SERIES];	/* what it fills, NULL ends */
	/* Why it looks at CLOCK_MONOTONIC; NULL: it takes the best clock. */
	const char *monotonic;
	/* What measures is not the thread: it reads, on other CPUs, of its policy. */
	bool beside;
	/*
	 * Before there are threads, and after the last: what is the whole machine's.  0; 1: it
	 * cannot be had, @result says so; -1, said why, and nothing is left.  disarm() gives
	 * false, said why: not all is as it was.  May be NULL.
	 */
	int (*arm)(const void *options, const struct cpulist *cpus, const char *root,
		   struct result *result);
	bool (*disarm)(struct result *result, const void *options);
	/*
	 * In the thread, once it is where it shall be and before it begins; may allocate.
	 * False: @worker->failure says why, and what helps.  May be NULL.
	 */
	bool (*open)(struct worker *worker);
	/*
	 * From @worker->begin_ns to @worker->end_ns, or until worker_over(), which is looked
	 * at after each sleep: a signal without effect wakes it then.  No I/O, no memory.
	 */
	void (*run)(struct worker *worker);
	/* Gives back what open() took.  May be NULL. */
	void (*close)(struct worker *worker);
};

/* What the thread of one CPU has. */
struct worker {
	const struct method *method;
	const void *options;		/* the method's own */
	const struct timebase *timebase;
	int cpu;
	pid_t tid;
	uint64_t period_ns;		/* between triggers, on average */
	enum phase_kind phase;
	uint64_t seed;			/* for this CPU */
	uint64_t samples;		/* end after so many triggers; 0: by time */
	uint64_t begin_ns, end_ns;	/* CLOCK_MONOTONIC */
	struct series *series[METHOD_SERIES];
	void *own;			/* the method's own */
	char failure[METHOD_FAILURE];
	bool stop;			/* it shall end */
};

static inline bool worker_over(const struct worker *worker)
{
	return __atomic_load_n(&worker->stop, __ATOMIC_RELAXED);
}

#endif
