/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolator status reads at one moment, and what of it is shown. */
#ifndef STATE_H
#define STATE_H

#include <stdio.h>

#include "base/cpulist.h"
#include "proc/holder.h"
#include "proc/limit.h"
#include "proc/proc.h"

struct state {
	struct proc_sample sample;
	struct limits limits;
	struct holders holders;
};

struct state_view {
	const struct state *now;
	const struct state *before;	/* NULL: this is the first */
	const struct cpulist *only;
	unsigned int top;		/* rows of senders per CPU, 0: all */
	bool colours;
	int selected;			/* on a screen: whose senders are shown; -1: none is isolated */
	bool paused;
};

/*
 * Are the CPUs that --cpu names there?  Those of another machine's files are not known.  0, or
 * -1, said which are not.
 */
int state_check(const struct cpulist *only, const char *directory, const char *root);

/* From @directory, and holders from below @root.  0, or -1 with nothing to free: said why. */
int state_read(struct state *state, const char *directory, const char *root);

void state_free(struct state *state);

/* @cpu in the state before, if rates can be made from it; else NULL. */
const struct proc_cpu *state_before(const struct state_view *view, const struct proc_cpu *cpu);

/* Seconds since the state before. */
double state_seconds(const struct state_view *view);

/* The sender whose request waited longest for @cpu; NULL: unknown. */
const struct proc_sender *state_longest(const struct proc_cpu *cpu);

/* Is it isolated, and to be shown? */
bool state_shows(const struct state_view *view, const struct proc_cpu *cpu);

/* Is there such a CPU? */
bool state_any(const struct state_view *view);

/* The part of one CPU, without its line ends broken. */
void state_text_cpu(FILE *out, const struct state_view *view, const struct proc_cpu *cpu);

/* What @put writes, in lines of 80 columns. */
void state_fold(FILE *out, void (*put)(FILE *out, const struct state_view *view),
		const struct state_view *view);

void state_text(FILE *out, const struct state_view *view);
void state_screen(FILE *out, const struct state_view *view);
void state_json(FILE *out, const struct state_view *view);

/* The CPU shown that is @steps behind the selected one, or the nearest; -1: there is none. */
int state_move(const struct state_view *view, int selected, int steps);

#endif
