/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often each kind of interrupt came to some CPUs: /proc/interrupts, /proc/softirqs. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpulist.h"

#define INTERRUPTS_PATH "/proc/interrupts"
#define SOFTIRQS_PATH "/proc/softirqs"

struct interrupt {
	char *label;		/* LOC, or a number */
	char *what;		/* the kernel's words for it, or the device's; may be empty */
	const char *class;	/* timer, call, resched, tlb, work, nmi, machine-check, device, other */
	uint64_t count;
};

struct interrupts {
	bool known;	/* false: the file could not be read, or has none of the CPUs */
	struct interrupt *rows;
	size_t count;
};

/*
 * Those of @cpus since power-on, from the text of such a file, which is written to.
 * False: it has a column of none of them.
 */
bool interrupts_parse(struct interrupts *interrupts, char *text, const struct cpulist *cpus);

/* The same from the file itself. */
void interrupts_read(struct interrupts *interrupts, const char *root, const char *path,
		     const struct cpulist *cpus);

/* Takes away what there was @before, and rows of which nothing is left. */
void interrupts_since(struct interrupts *interrupts, const struct interrupts *before);

uint64_t interrupts_sum(const struct interrupts *interrupts);

void interrupts_free(struct interrupts *interrupts);

#endif
