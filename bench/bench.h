/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the benchmarks share: a number of the command line, the clock, the median. */
#ifndef BENCH_H
#define BENCH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The value of --@option; one that is no number from @low to @high ends the program. */
static inline unsigned long bench_number(const char *option, const char *text, unsigned long low,
					 unsigned long high)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || value < low || value > high) {
		fprintf(stderr, "%s: --%s needs a number from %lu to %lu\n",
			program_invocation_short_name, option, low, high);
		exit(1);
	}
	return value;
}

/* Ends the program with its @usage: --help has @asked for it, or the options were wrong. */
static inline void bench_end(void (*usage)(FILE *to), bool asked)
{
	usage(asked ? stdout : stderr);
	exit(asked ? 0 : 1);
}

/* CLOCK_MONOTONIC */
static inline uint64_t bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

/* Of @count values, at least one; they are sorted afterwards. */
static inline double bench_median(double *values, unsigned int count)
{
	qsort(values, count, sizeof(values[0]), bench_compare);
	return values[count / 2];
}

#endif
