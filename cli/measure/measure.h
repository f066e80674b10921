/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be measured, and what the command line of isolator measure said. */
#ifndef MEASURE_H
#define MEASURE_H

#include "options/options.h"
#include "sampling/sampler.h"

#define MEASURE_UNSAID UINT32_MAX	/* of a number or word: the option was not given */

struct measure_options {
	struct cpulist cpus;
	uint64_t time_ns, period_ns;	/* 0: not given */
	unsigned int samples;		/* 0: not given */
	unsigned int method, policy, priority, phase, seed, late, digits;
	uint64_t dma_ns;		/* UINT64_MAX: not given */
	uint64_t gap_ns, width_ns;	/* 0: not given */
	unsigned int of;		/* 0: not given */
	struct option_texts limits, soft_limits;
	const char *output, *openmetrics;
	const char *with;		/* a load; NULL */
	struct cpulist with_cpus;
	uint64_t why_ns;		/* 0: not given */
	unsigned int worst;		/* 0: not given */
	bool json;
	const char *root;
	const char *fed;		/* instead of measuring; NULL */
};

/* One of the words behind isolator measure. */
struct measure {
	const char *name;	/* a word of the schema */
	const char *what;	/* for people */
	bool one;		/* if no CPUs are given: one, else all */
	enum policy_kind policy;	/* if none is given */
	/*
	 * Fills the method and what goes with it into @order, and the phase of @result.  0,
	 * or -1, said why: an option that does not go with it, or with another.
	 */
	int (*prepare)(const struct measure_options *options, struct order *order,
		       struct result *result);
	/* Gives back what prepare() took.  May be NULL. */
	void (*done)(void);
};

/* Words of --method. */
enum latency_method { METHOD_NANOSLEEP, METHOD_TIMERFD, METHOD_TIMERLAT };
enum noise_method { METHOD_SPIN, METHOD_OSNOISE };

extern const struct measure hardware_measure, latency_measure, noise_measure, rtc_measure;

#endif
