/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kprobes that come and go beside an isolated task. */
#ifndef LAB_KPROBES_H
#define LAB_KPROBES_H

#include "../test.h"
#include "probe.h"

/*
 * Nobody else makes these calls.  On x86 a probe at the entry proper is one of ftrace's call, and
 * has no copy of an instruction: a breakpoint of ftrace's that QEMU executes when it is gone
 * (lab/observer/stale.c) is taken for the probe's, and the kernel jumps to address 0.  Behind
 * that call stands a breakpoint of the probe's own, soon a jump.
 */
#ifdef __x86_64__
#define COUNTED	"__x64_sys_sched_get_priority_max+5"
#define CHURNED	"__x64_sys_sched_get_priority_min+5"
#else
#define COUNTED	"__arm64_sys_sched_get_priority_max"
#define CHURNED	"__arm64_sys_sched_get_priority_min"
#endif

enum { PROBES = 200 };

/*
 * The isolated task.  A probe is at COUNTED from before its start until the test ends: the first
 * event makes the buffers of the trace, by work on each CPU.
 */
static inline struct worker *kprobes_worker(void (*each)(struct worker *w), unsigned int tick_ms)
{
	struct worker *w = worker_new(1);

	iso_require(2);
	if (!probe_begin("p", "counted", COUNTED))
		bail_out("no probe at " COUNTED);
	w->each = each;
	w->tick_ms = tick_ms;
	/* Both longer than any kernel takes. */
	w->deadline_ns = 1000 * SEC;
	w->spin_ns = SEC;
	w->life_s = 2000;
	need_worker(worker_thread(w));
	return w;
}

/*
 * PROBES at CHURNED that were planted, hit as often as may be, and taken away, one by one; @sum
 * has what all of them counted.
 */
static inline void kprobes_churn(const char *when, struct probe_counts *sum)
{
	int done = 0;

	for (int i = 0; i < PROBES; i++) {
		struct probe_counts one;

		if (!probe_begin("p", "churned", CHURNED))
			break;
		one = probe_counts("churned");
		probe_end("churned");
		if (one.hits < 0)
			break;
		sum->hits += one.hits;
		sum->misses += one.misses;
		done++;
	}
	ok(done == PROBES, "%d probes came and went %s", done, when);
}

static inline int kprobes_end(struct worker *w)
{
	worker_end(w);
	probe_end("counted");
	return done_testing();
}

#endif
