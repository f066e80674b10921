/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often each kind of interrupt came to some CPUs: /proc/interrupts, /proc/softirqs. */
#ifndef INTERRUPTS_H
#define INTERRUPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"

#define INTERRUPTS_PATH "/proc/interrupts"
#define SOFTIRQS_PATH "/proc/softirqs"

struct interrupt {
	char *label;		/* LOC, or a number */
	char *what;		/* the kernel's words for it, or the device's; may be empty */
	const char *class;	/* one of interrupt_classes */
	uint64_t *of;		/* how often, for each column */
	uint64_t count;		/* all of these */
};

/* How what sends it is called: of a device its own name, without where it comes from. */
const char *interrupt_name(const struct interrupt *row);

struct interrupts {
	bool known;	/* false: the file could not be read, or has none of the CPUs */
	int *cpus;	/* of each column: those that were asked for and are there, ascending */
	size_t columns;
	struct interrupt *rows;
	size_t count;
};

/* device, timer, resched, call, tlb, work, nmi, machine-check, other; NULL ends them. */
extern const char *const interrupt_classes[];

/*
 * Those of @cpus since power-on, from the text of such a file, which is written to.
 * False: it has a column of none of them.  Rows that have one number for the whole
 * machine, as x86's ERR, are left out.
 */
bool interrupts_parse(struct interrupts *interrupts, char *text, const struct cpulist *cpus);

/* The same from the file itself. */
void interrupts_read(struct interrupts *interrupts, const char *root, const char *path,
		     const struct cpulist *cpus);

/* Takes away what there was @before, and rows of which nothing is left. */
void interrupts_since(struct interrupts *interrupts, const struct interrupts *before);

/* The row of this label, which stands at @near or so; NULL: there is none. */
const struct interrupt *interrupts_find(const struct interrupts *interrupts, const char *label,
					size_t near);

/* For each column of @now that of the same CPU @before, -1: there is none; to be freed. */
long *interrupts_columns(const struct interrupts *now, const struct interrupts *before);

/*
 * What came between two looks at a row, for each of the @count columns of @now: 0 where
 * @columns has none before.  The kernel counts in 32 bits: what fell has wrapped if it
 * came @most times or less, else the row began anew, as that of another device does.
 * Then, and without @before, it is all of @now.  False: it began anew.
 */
bool interrupt_came(const struct interrupt *now, const struct interrupt *before,
		    const long *columns, size_t count, uint64_t most, uint64_t *came);

uint64_t interrupts_sum(const struct interrupts *interrupts);

void interrupts_free(struct interrupts *interrupts);

#endif
