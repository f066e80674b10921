/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why something took longer: the kernel's trace of the measured CPUs, kept in a ring that
 * overwrites itself, and read when a value was above the threshold.  One thread uses it,
 * on a CPU that is not measured if there is one.
 */
#ifndef ATTRIBUTE_H
#define ATTRIBUTE_H

#include <stdio.h>

#include "attribute/cause.h"
#include "base/cpulist.h"
#include "base/json.h"

struct attribute;

struct attribute_options {
	const struct cpulist *cpus;	/* the measured ones */
	uint64_t threshold_ns;		/* only told, in what is written */
	size_t most;			/* outliers that are kept, at least 1 */
	unsigned int hold_ms;		/* the longest time from an outlier to the look at it */
};

/*
 * Traces from now on.  To be called before the measuring threads spin: it visits each CPU
 * once, and turns events on, which patches the kernel's text.  NULL: @why, to be freed,
 * says what is missing; the measure can go on without causes.
 */
struct attribute *attribute_open(const struct attribute_options *options, char **why);

/*
 * The same of a recording: a directory laid out as tracefs, with events, per_cpu and, for
 * the CPUs that are not measured, senders/per_cpu.  Beside them, and each may be missing:
 * kallsyms, printk_formats and saved_cmdlines; proc/stat and sys/devices/system/cpu as they
 * were when it began, and again in end/ as they were when it was over.
 */
struct attribute *attribute_open_copy(const struct attribute_options *options,
				      const char *directory, char **why);

/*
 * Looks for the causes of @outlier, in the causes of @finding, which are kept and ranked
 * too.  To be called within hold_ms; what was overwritten by then is "unknown".
 */
void attribute_look(struct attribute *attribute, const struct outlier *outlier,
		    struct finding *finding);

/* A value above the threshold that nobody looks at: counted. */
void attribute_pass(struct attribute *attribute, uint64_t count);

/* The place of a finding among those that are kept; -1: it is none of them. */
int attribute_place(struct attribute *attribute, int cpu, uint64_t trigger);

/* What an outlier costs without a look and with: the same measure, in ns. */
struct attribute_overhead {
	uint64_t on_p50_ns, off_p50_ns, on_p99_ns, off_p99_ns;
};

/* The value of "attribution" (schema/measure.json); @overhead NULL: it was not measured. */
void attribute_json(struct json *json, const char *key, struct attribute *attribute,
		    const struct attribute_overhead *overhead);

/* For people: the ranked causes, and the @most worst outliers. */
void attribute_text(FILE *out, struct attribute *attribute, size_t most, bool colours);

/* Ends tracing; what was found can still be told.  No look may follow; NULL is none. */
void attribute_end(struct attribute *attribute);

/* Ends tracing and removes all that it made; NULL is none. */
void attribute_close(struct attribute *attribute);

#endif
