/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolator stat shows of one sample. */
#ifndef STAT_H
#define STAT_H

#include <stdio.h>

#include "base/cpulist.h"
#include "proc/proc.h"

struct stat_view {
	const struct proc_sample *now;
	const struct proc_sample *before;	/* NULL: this is the first sample */
	const struct cpulist *only;
	unsigned int top;			/* rows of senders per CPU, 0: all */
	bool colours;
};

/* @cpu's state in the sample before, if rates can be made from it; else NULL. */
const struct proc_cpu *stat_before(const struct stat_view *view, const struct proc_cpu *cpu);

/* Seconds since the sample before. */
double stat_seconds(const struct stat_view *view);

/* The sender whose hold was @cpu's longest; NULL: unknown. */
const struct proc_sender *stat_longest(const struct proc_cpu *cpu);

/* Is a CPU isolated that shall be shown? */
bool stat_any(const struct stat_view *view);

/* The part of one CPU. */
void stat_text_cpu(FILE *out, const struct stat_view *view, const struct proc_cpu *cpu);

void stat_text(FILE *out, const struct stat_view *view);
void stat_json(FILE *out, const struct stat_view *view);

#endif
