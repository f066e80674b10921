/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies below the kernel: idle states, a hypervisor that takes a CPU away, and a processor
 * that slows itself down because it is hot.
 */
#ifndef BELOW_H
#define BELOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BELOW_STATES 16

struct below_idle {
	char name[16];
	uint64_t exit_ns;	/* that it may take to leave, as the driver says; 0: it says nothing */
};

struct below_cpu {
	int cpu;
	struct below_idle states[BELOW_STATES];
	int nr_states;
	uint64_t steal;		/* ticks, as counted last */
	int64_t unclaimed_ns;	/* of it, what no outlier has taken yet */
	bool counts_heat;	/* it says how often it was slowed down */
	uint64_t heat;		/* as counted last */
	uint64_t unclaimed_heat;
};

struct below {
	char *root;		/* where counts are read from now on */
	struct below_cpu *cpus;
	size_t count;
	uint64_t tick_ns;	/* of the counts */
};

/* @root: "" or where another machine's files are. */
void below_open(struct below *below, const char *root, const int *cpus, size_t count);

/* The files as they were at the end of a recording are in @root, which may be missing. */
void below_end_copy(struct below *below, const char *root);
void below_close(struct below *below);

/* Reads how much was stolen; to be called before outliers are looked at. */
void below_read(struct below *below);

/*
 * Was so much stolen of @cpu?  Then it is taken from what was counted, which is known to
 * one tick only, and cannot explain another gap.
 */
bool below_stolen(struct below *below, int cpu, uint64_t ns);

/* Was @cpu slowed down because of heat?  One time explains one gap. */
bool below_heated(struct below *below, int cpu);

/* The idle state; NULL: nothing is known of it. */
const struct below_idle *below_idle(const struct below *below, int cpu, int state);

#endif
