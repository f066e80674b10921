/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is counted of requests: per CPU, per callback and per sender. */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum count { DEFERRED, EXCLUDED, QUEUED, MISSED, IMMEDIATE, REFUSED, PLANNED, COUNTS };

/* As the kernel writes them. */
extern const char *const count_names[COUNTS];

struct counts {
	uint64_t n[COUNTS];
};

uint64_t counts_sum(const struct counts *counts);

/* Adds @more to @counts. */
void counts_add(struct counts *counts, const struct counts *more);

/*
 * What came to @now since @before, NULL for the beginning.  False: a count fell, as
 * a new isolation begins from 0; then @since is all of @now.
 */
bool counts_since(const struct counts *now, const struct counts *before,
		  struct counts *since);

#endif
