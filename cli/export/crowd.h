/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who asked for what, such that it stays few: of each CPU the worst, by name, and all others
 * as one.
 */
#ifndef CROWD_H
#define CROWD_H

#include "proc/proc.h"

struct crowd_member {
	int cpu;
	char *callback, *kind, *name;	/* as labels may have them; "" for none */
	struct counts counts;
	uint64_t longest_ns;
};

struct crowd_rest {
	int cpu;
	struct counts counts;
};

struct crowd {
	struct crowd_member *members;	/* of each CPU those of it together, the worst first */
	size_t count;
	struct crowd_rest *rests;	/* one for each CPU */
	size_t nr_rests;
};

/*
 * Adds at most @top senders of @cpu, 0 for all.  Two that a label cannot tell apart are one.
 * Those for which the kernel had no room are among the rest.
 */
void crowd_add_senders(struct crowd *crowd, const struct proc_cpu *cpu, unsigned int top);

/* The same of callbacks, whoever asked for them. */
void crowd_add_callbacks(struct crowd *crowd, const struct proc_cpu *cpu, unsigned int top);

void crowd_free(struct crowd *crowd);

#endif
