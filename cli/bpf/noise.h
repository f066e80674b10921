/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of isolator-bpf noise: what it was asked for, what it found, and its writers. */
#ifndef NOISE_H
#define NOISE_H

#include <stdio.h>

#include "bpf/programs.h"
#include "bpf/sum.h"

struct noise_options {
	struct cpulist cpus;
	uint64_t time_ns;		/* 0: until it is interrupted */
	uint64_t threshold_ns;
	uint64_t limit_ns;		/* 0: none */
	unsigned int top;
	unsigned int of;		/* 0: all in user space */
	uint64_t ring_bytes;		/* for tests: a power of two, and whole pages */
	bool no_stacks;
	bool json;
	const char *output;		/* NULL: none */
};

/* Of one measured CPU. */
struct noise_cpu {
	int cpu;
	struct record_state state;
};

struct noise_run {
	const struct noise_options *options;
	bool running, early;
	uint64_t began_ns, ended_ns;	/* CLOCK_MONOTONIC */
	uint64_t real_ns;		/* CLOCK_REALTIME is later by that */
	const char *notes;		/* what this kernel does not tell; NULL: nothing */
	struct noise_cpu *cpus;
	size_t nr_cpus;
	struct sums sums;		/* of each CPU */
	struct ranking ranking;
	uint64_t looked;		/* losses that came through the ring */
	struct programs_cost cost;	/* of the first cost_ns */
	uint64_t cost_ns;
	struct reader reader;
};

/* All CPUs together. */
struct noise_total {
	uint64_t losses, lost_ns, worst_ns, worst_at_ns, above, dropped;
	uint64_t events, unmatched, crowded, uncounted, unseen;
	uint64_t event_ns;		/* what one costs on its CPU; 0: not known */
	double share;			/* of the CPUs' time that went to the programs */
};

struct noise_total noise_total(const struct noise_run *run);

/* Was everything counted?  An excess that the ring lost was counted, and has no causes. */
bool noise_complete(const struct noise_run *run);

/* The exit code. */
int noise_exit(const struct noise_run *run);

/* The document of schema isolator.bpf-noise. */
void noise_json(FILE *out, const struct noise_run *run);
void noise_text(FILE *out, const struct noise_run *run, bool colours);

extern const struct command noise_command;

#endif
