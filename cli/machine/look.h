/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looks at the kernel's counts of interrupts and softirqs, and what came between two of them. */
#ifndef LOOK_H
#define LOOK_H

#include <stdint.h>

#include "machine/interrupts.h"

enum look_list { LOOK_INTERRUPTS, LOOK_SOFTIRQS, LOOK_LISTS };

extern const char *const look_paths[LOOK_LISTS];

struct look {
	uint64_t taken_ns;	/* CLOCK_MONOTONIC, when the reading began */
	struct interrupts lists[LOOK_LISTS];
	int errors[LOOK_LISTS];	/* why it is not known: EBADMSG has none of the CPUs; 0: it is */
};

/* Of @cpus, below @root. */
void look_take(struct look *look, const char *root, const struct cpulist *cpus);

void look_free(struct look *look);

double look_seconds(const struct look *before, const struct look *now);

/* Of that time. */
struct since {
	struct interrupts lists[LOOK_LISTS];	/* as interrupts_between() has them */
	struct cpulist both;		/* CPUs that were there at both looks */
	struct cpulist came, left;	/* at one of them alone: what came there is not known */
	char **gone;		/* labels of interrupts that vanished, and what they counted last */
	size_t nr_gone;
};

void since_make(struct since *since, const struct look *before, const struct look *now,
		double seconds);

void since_free(struct since *since);

#endif
