/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc/isolator holds at one moment. */
#ifndef PROC_H
#define PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/counts.h"

#define PROC_DIRECTORY "/proc/isolator"
#define PROC_VERSION 1		/* of the texts, as status says */
#define PROC_NEVER UINT64_MAX	/* the deadline of strict mode */
#define PROC_UNSAID (-1)	/* what the kernel says to root only */

struct proc_stack {
	const char **lines;
	size_t count;
};

struct proc_kind {
	const char *name;
	uint64_t longest_ns;
};

/* What one function was asked for, whoever asked. */
struct proc_callback {
	const char *name;
	struct counts counts;
	uint64_t longest_ns;
};

/* What one sender asked for; of kind "others": all that the kernel had no room for. */
struct proc_sender {
	const char *callback;	/* NULL: the request has none */
	const char *kind;
	const char *comm;	/* as the kernel writes it, control characters as \ooo */
	struct counts counts;
	uint64_t longest_ns;
	struct proc_stack stack;
};

/* One delivery in user mode; names are only for who may see them. */
struct proc_delivery {
	bool immediate;		/* always delivered at once; else a deadline miss */
	bool named;
	const char *kind;
	uint64_t at_ns;
	uint64_t waited_ns;
	const char *callback;	/* NULL: it has none */
	const char *caller;	/* NULL: unknown */
	int sender_cpu;
	int pid;
	const char *comm;
	struct proc_stack stack;
};

/* How often the isolated task ticked, yielded the CPU, and was interrupted as planned. */
struct proc_own {
	bool known;		/* an older kernel does not say */
	uint64_t ticks, yields, planned;
	bool entries_known;
	uint64_t entries;	/* of ticks, kernel entries made for something else */
};

struct proc_cpu {
	int cpu;
	bool isolated;		/* else its isolation has ended: */
	const char *end;
	uint64_t mask, got, depth;
	uint64_t deadline_ns;	/* or PROC_NEVER */
	uint64_t spin_ns, yield_ns;
	uint64_t batch_ns;	/* 0: none */
	int auto_tick;		/* 1: each kernel entry is a tick */
	int quarantine;		/* 1: siblings unmap without waiting; or PROC_UNSAID */
	uint64_t quarantine_bytes; /* what they unmapped and waits to be freed */
	int owner;		/* the isolated thread; 0: not seen from this PID namespace */
	int user;		/* 1: it was in user mode; or PROC_UNSAID */
	uint64_t started_ns;	/* CLOCK_MONOTONIC */
	bool counted;		/* stats has it */
	struct counts total;
	struct proc_own own;
	uint64_t uncounted;	/* requests whose callback had no room */
	struct proc_kind *kinds;
	size_t nr_kinds;
	struct proc_callback *callbacks;
	size_t nr_callbacks;
	struct proc_sender *senders;
	size_t nr_senders;
	struct proc_delivery *deliveries;
	size_t nr_deliveries;
};

/* Whether the names of callbacks and senders could be read. */
enum proc_names {
	NAMES_SEEN,
	NAMES_DENIED,		/* the reader is not root */
};

enum proc_file { PROC_STATUS, PROC_STATS, PROC_SENDERS, PROC_DELIVERIES, PROC_FILES };

struct proc_sample {
	char *text[PROC_FILES];		/* what all strings point into */
	uint64_t taken_ns;		/* CLOCK_MONOTONIC */
	const char *allowed;		/* lists, may be empty */
	const char *isolated;
	enum proc_names names;
	bool consistent;		/* each CPU's senders add up to its total */
	struct proc_cpu *cpus;		/* those isolated, and those that once were */
	size_t nr_cpus;
};

/*
 * Fills @sample from @directory, deliveries only if asked for.  0, or -1 with nothing
 * to free: said why, and how to mend it.
 */
int proc_read(const char *directory, bool deliveries, struct proc_sample *sample);

/* The same of the machine whose files are below @root. */
int proc_read_below(const char *root, bool deliveries, struct proc_sample *sample);

void proc_free(struct proc_sample *sample);

/* NULL: @sample is NULL or has no such CPU. */
const struct proc_cpu *proc_cpu(const struct proc_sample *sample, int cpu);

/*
 * What was counted on a CPU between two samples.  False: @since is of @now alone,
 * as @before is NULL or of another isolation.
 */
bool proc_since(const struct proc_cpu *now, const struct proc_cpu *before,
		struct counts *since);

/* The longest wait on @cpu; NULL if nothing waited. */
const struct proc_kind *proc_longest(const struct proc_cpu *cpu);

/* The entry of @cpu that has @sender's names; NULL: @cpu is NULL or has none. */
const struct proc_sender *proc_sender(const struct proc_cpu *cpu,
				      const struct proc_sender *sender);

#endif
