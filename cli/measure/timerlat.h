/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracer timerlat with a thread of ours: how late its timer's interrupt comes, how late
 * the thread runs, and how late it is back from user mode.
 */
#ifndef TIMERLAT_H
#define TIMERLAT_H

#include "measure/tracer.h"
#include "sampling/policy.h"

#define TIMERLAT_PERIOD_MIN_NS 100000
#define TIMERLAT_PERIOD_MAX_NS UINT64_C(1000000000)

struct timerlat_options {
	struct tracer_options tracer;	/* the first */
	const char *root;
	struct policy policy;
	struct policy *got;	/* by the last thread that began */
};

void timerlat_set(struct timerlat_options *options, const struct cpulist *cpus,
		  uint64_t period_ns);

/* Its options are struct timerlat_options. */
extern const struct tracer_method timerlat_method;

#endif
