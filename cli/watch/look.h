/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One look at the kernel's counts of interrupts and softirqs, of all CPUs. */
#ifndef LOOK_H
#define LOOK_H

#include <stdint.h>

#include "machine/interrupts.h"

enum look_list { LOOK_INTERRUPTS, LOOK_SOFTIRQS, LOOK_LISTS };

struct look {
	uint64_t taken_ns;	/* CLOCK_MONOTONIC, when the reading began */
	struct interrupts lists[LOOK_LISTS];
	int softirqs_error;	/* why they are not known; 0: they are */
};

/* Below @root.  0; -1 with nothing to free, said why: there are no interrupts to look at. */
int look_take(struct look *look, const char *root);

void look_free(struct look *look);

#endif
