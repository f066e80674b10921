/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentences that all subcommands have in common. */
#ifndef PROC_TEXT_H
#define PROC_TEXT_H

#include <stdio.h>

#include "base/cpulist.h"
#include "proc/proc.h"

/* Nothing to look at: why, and how to isolate a CPU. */
void proc_text_nothing(FILE *out, const struct proc_sample *sample,
		       const struct cpulist *only);

/* What a reader without privilege does not see, and how to see it; else nothing. */
void proc_text_names(FILE *out, const struct proc_sample *sample, const char *command);

/* How an isolation ended; what status says if this command does not know the word. */
const char *proc_text_end(const char *end);

/* "queued 58, missed 2": those that are not 0; to be freed. */
char *proc_text_counts(const struct counts *counts);

/* What a start lacks, for status's mask and got: no line, one, or two. */
void proc_text_shortfall(FILE *out, uint64_t achieved, uint64_t more);

/* Behind its owner: whether kernel entries of @cpu tick, its batch period, its quarantine. */
void proc_text_ticks(FILE *out, const struct proc_cpu *cpu);

/* Whether @cpu is isolated, with which bounds, and what its start lacks. */
void proc_text_state(FILE *out, const struct proc_cpu *cpu, bool colours);

#endif
