/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolator why found. */
#ifndef WHY_H
#define WHY_H

#include <stdio.h>

#include "proc/ranked.h"

/* One CPU in the span that is looked at. */
struct why_cpu {
	const struct proc_cpu *now;
	const struct proc_cpu *before;	/* NULL: the span begins with the isolation */
	bool anew;			/* a new isolation began within the span */
	struct counts total;		/* of the span */
	size_t first_delivery;		/* of now's that belong to the span */
};

struct why {
	const struct proc_sample *now;
	double seconds;			/* of the span; 0: since the isolation began */
	struct why_cpu *cpus;
	size_t nr_cpus;
	struct ranked_senders ranked;
	unsigned int top;		/* senders to be told, 0: all */
	bool stacks;
	bool colours;
};

/* How many senders are told. */
size_t why_told(const struct why *why);

void why_text(FILE *out, const struct why *why);
void why_json(FILE *out, const struct why *why);

#endif
