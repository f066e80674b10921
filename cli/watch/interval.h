/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One interval of isolator watch, and all that was read for it. */
#ifndef INTERVAL_H
#define INTERVAL_H

#include "machine/capture.h"
#include "watch/route.h"
#include "watch/span.h"

struct watch_options {
	struct cpulist cpus;	/* those to be guarded; not given: the machine says */
	const char *root;
	unsigned int limit;	/* WATCH_NO_LIMIT: none */
	unsigned int top;	/* rows of each table; 0: all */
	bool all;		/* also rows of which nothing came */
};

#define WATCH_NO_LIMIT UINT32_MAX

struct interval {
	const struct watch_options *options;
	struct capture capture;
	struct guard guard;
	struct span span;
	struct router router;
	const struct capture_file *balancer;	/* a process that moves interrupts; NULL: none is known */
};

/*
 * What came between @before and @now in @seconds, with routes and advice.  0; -1 with
 * nothing to free, said why.
 */
int interval_make(struct interval *interval, const struct watch_options *options,
		  const struct look *before, const struct look *now, double seconds);

/* Also one that is all 0. */
void interval_free(struct interval *interval);

/* Has @row something to show? */
bool interval_shows(const struct interval *interval, const struct span_row *row);

enum span_verdict interval_verdict(const struct interval *interval);

/* Files that could not be read though they are there; each with its errno. */
bool interval_unread(const struct capture_file *file);

#endif
