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

/* Of what came between two looks, how its row began. */
enum interrupt_begin {
	INTERRUPT_GOES_ON,
	INTERRUPT_APPEARED,	/* there was no such row: all that it has counted is of this time */
	INTERRUPT_ANEW,		/* its counts fell: what came before they did is not known */
};

struct interrupt {
	char *label;		/* LOC, or a number */
	char *what;		/* the kernel's words for it, or the device's; may be empty */
	const char *class;	/* one of interrupt_classes */
	uint64_t *of;		/* how often, for each column */
	uint64_t count;		/* all of these */
	enum interrupt_begin begin;
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

/* The row of this label, which stands at @near or so; NULL: there is none. */
const struct interrupt *interrupts_find(const struct interrupts *interrupts, const char *label,
					size_t near);

/* More cannot have come in any time that is looked at, and half of what 32 bits hold. */
#define INTERRUPTS_MOST (UINT64_C(1) << 31)

/*
 * What came between two looks, in the rows and columns of @now; nothing to a CPU that was not
 * there @before.  The kernel counts in 32 bits: what fell has wrapped if it came @most times or
 * less, else the row began anew, as that of another device does.  Then, and of a row that was
 * not there, it is all of @now.  What came of a row that is gone is not known.
 */
void interrupts_between(struct interrupts *came, const struct interrupts *before,
			const struct interrupts *now, uint64_t most);

uint64_t interrupts_sum(const struct interrupts *interrupts);

void interrupts_free(struct interrupts *interrupts);

#endif
