/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happened, on any CPU, to the measuring thread between two times, and what changed
 * beside it: read once before the time is shared out.
 */
#ifndef SURVEY_H
#define SURVEY_H

#include "attribute/sender.h"

#define SURVEY_MOMENTS 512
#define SURVEY_SPANS 64

enum moment_type {
	MOMENT_WOKEN,
	MOMENT_RUNS,
	MOMENT_PREEMPTED,	/* it was switched out and would have gone on */
	MOMENT_BLOCKED,		/* it was switched out and waits for something */
	MOMENT_MIGRATED,
};

struct moment {
	uint64_t ns;
	enum moment_type type;
	int cpu;		/* where */
	int by;			/* pid of who did it */
	int prio;		/* of the measuring thread */
};

struct survey {
	struct moment moments[SURVEY_MOMENTS];	/* by time; further ones are left out */
	size_t count;
	/* What is told only when it is over: NMIs of the CPU. */
	struct { uint64_t from_ns, to_ns, handler; } nmis[SURVEY_SPANS];
	size_t nr_nmis;
	/* When the CPU's frequency changed, and to what. */
	struct { uint64_t ns, khz; } frequencies[SURVEY_SPANS];
	size_t nr_frequencies;
	struct senders senders;
};

void survey_open(struct survey *survey);
void survey_close(struct survey *survey);

/* Of @outlier, in the @count stores. */
void survey_take(struct survey *survey, const struct outlier *outlier,
		 const struct trace_store *stores, size_t count,
		 const struct trace_readers *readers);

#endif
