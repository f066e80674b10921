/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own tracers of noise (osnoise, hwlat, timerlat) as methods: their loops and
 * timers measure, threads on other CPUs read what they found.  Their settings are the whole
 * machine's: noted in a journal, read back, and put back at the end, by isolator restore if
 * this process is killed.
 */
#ifndef TRACER_H
#define TRACER_H

#include "base/setting.h"
#include "measure/tracer_line.h"
#include "sampling/method.h"

/* In INSTANCE_TRACEFS. */
struct tracer_setting {
	const char *name;		/* in the result */
	const char *path;
	enum setting_kind kind;
	char *wanted;			/* freed by tracer_free() */
	bool must;			/* without it the figures are none */
};

#define TRACER_SETTINGS 8

struct tracer_options {
	const char *tracer;		/* as in current_tracer */
	const char *config;		/* what the kernel is to be built with */
	const char *events;		/* for set_event; NULL: none */
	struct tracer_setting settings[TRACER_SETTINGS];	/* in this order; no path ends */
	uint64_t threshold_ns;		/* what is not above is no value; 0: all are */
	pid_t program;			/* its threads are no noise; 0: none */
};

struct tracer_method {
	struct method method;
	/* Of an event within the run; not called for losses, which are missing in all series. */
	void (*take)(struct worker *worker, const struct tracer_line *line);
};

/* One value of series @index. */
void tracer_record(struct worker *worker, unsigned int index, const struct tracer_line *line);

/* So many values are missing, in each series. */
void tracer_lose(struct worker *worker, uint64_t count);

/* The parts of a method. */
int tracer_arm(const void *options, const struct cpulist *cpus, const char *root,
	       struct result *result);
bool tracer_disarm(struct result *result, const void *options);
bool tracer_open(struct worker *worker);
void tracer_run(struct worker *worker);
void tracer_close(struct worker *worker);

/* What is traced on @cpu while it is armed; -1 with errno. */
int tracer_pipe(int cpu);

void tracer_free(struct tracer_options *options);

#endif
