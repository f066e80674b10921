/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that a run of isolator measure found, and what it comes to. */
#ifndef RESULT_H
#define RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "sampling/asked.h"
#include "sampling/limit.h"
#include "statistics/series.h"
#include "statistics/timebase.h"

struct audit;

/* Two clocks at one moment. */
struct moment {
	uint64_t real_ns, monotonic_ns;
};

struct moment moment_now(void);

/* A stretch of the run under one load. */
struct part {
	bool loaded;
	const char *load;	/* NULL: none */
	struct moment began;
	double seconds;
	struct series **series;
	size_t count;
};

#define PARTS_MAX 3	/* quiet, loaded, and for a while one that is not kept */

enum outcome {
	OUTCOME_RUNNING,	/* it is not over */
	OUTCOME_MEASURED,	/* no limit was given */
	OUTCOME_PASSED,
	OUTCOME_EXCEEDED,
	OUTCOME_INVALID,	/* samples were lost uncounted, or a setting did not hold */
	OUTCOME_INCONCLUSIVE,
	OUTCOME_SKIPPED,
};

/* As in the result. */
extern const char *const outcome_names[];

enum phase_kind { PHASE_RANDOM, PHASE_FIXED, PHASE_NONE };

struct result {
	char id[33];
	const char *measure, *method;
	bool running;
	const char *skipped;	/* why there was nothing to measure with; NULL */
	char *reason;		/* the same, where result_free() frees it */
	bool early;		/* a signal ended it before its time */
	double seconds;
	struct moment began;
	struct asked_list settings;
	enum phase_kind phase;
	uint64_t seed;		/* of random ones */
	const struct audit *audit;	/* of the measured CPUs, may be NULL */
	const struct timebase *timebase;
	uint64_t threshold_ns;	/* from where gaps are counted; UINT64_MAX: none */
	struct part parts[PARTS_MAX];
	size_t nr_parts;
	struct limit *limits;
	size_t nr_limits;
	/* Writes the key "attribution"; NULL: nobody looked for causes. */
	void (*attribution)(struct json *json, const struct result *result);
	/* Which of its outliers that trigger of the last part is; -1: none.  NULL likewise. */
	int (*place)(int cpu, uint64_t trigger);
};

/* A new id, and the time. */
void result_init(struct result *result, const char *measure, const char *method);

/* After the limits were judged. */
enum outcome result_outcome(const struct result *result);
int result_exit(enum outcome outcome);

/* The last line of the text, without its end; to be freed. */
char *result_words(const struct result *result);

/* Judges all limits by the last part. */
void result_judge(struct result *result);

/* The document of schema isolator.measure. */
void result_json(FILE *out, const struct result *result);

/*
 * Writes by @write into @path anew: whoever reads sees the old one or the new one, whole,
 * also if this process is killed.  0 or the errno.
 */
int result_save(const char *path, const struct result *result,
		void (*write)(FILE *out, const struct result *result));

/* Gives back what it holds, but for the limits. */
void result_free(struct result *result);

#endif
