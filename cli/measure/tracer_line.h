/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of what the kernel's tracers of noise write, as trace_pipe shows it. */
#ifndef TRACER_LINE_H
#define TRACER_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum tracer_what {
	TRACER_OTHER,		/* nothing that is counted */
	TRACER_PART,		/* not all of a line, as where a task's name has a line end in it */
	TRACER_LOST,		/* so many events were overwritten: count */
	TRACER_GAP,		/* of osnoise's loop: ns; count: by how many events it was interrupted */
	TRACER_NMI, TRACER_IRQ, TRACER_SOFTIRQ,	/* one of them: ns */
	TRACER_THREAD,		/* the thread pid had the CPU: ns */
	TRACER_PERIOD,		/* of osnoise: ns were lost, of count us */
	TRACER_HWLAT,		/* the longest gap of a window: ns; count: NMIs in it */
	TRACER_TIMER_IRQ, TRACER_TIMER_THREAD, TRACER_TIMER_USER,	/* of timerlat: ns, count: which */
};

struct tracer_line {
	enum tracer_what what;
	uint64_t at_ns;		/* by the instance's clock, whole us; 0: not told, or not in the part */
	uint64_t ns, count;
	pid_t pid;
};

/* @text is without its end; it may hold any name of a task, and so line ends. */
struct tracer_line tracer_line(const char *text);

#endif
