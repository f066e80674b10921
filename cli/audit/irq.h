/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupts that devices send: where each may go, and who chooses that. */
#ifndef IRQ_H
#define IRQ_H

#include <stdbool.h>

#include "base/cpulist.h"

struct audit;
struct capture_file;

struct irq {
	const char *number;
	const struct capture_file *file;	/* the affinity that was asked for */
	struct cpulist asked;
	struct cpulist goes;			/* where it goes */
	bool managed;				/* only its driver chooses */
	bool bound;				/* nobody chooses: one for each CPU */
	bool told;				/* the kernel says whose choice it is */
};

/* What an interrupt does to CPUs that it shall leave alone. */
enum irq_reach {
	IRQ_ELSEWHERE,	/* it does not come there */
	IRQ_ASKED,	/* it may: whoever set its affinity names them */
	IRQ_PENDING,	/* it was sent elsewhere, and comes once more before it goes */
	IRQ_MANAGED,	/* it does, and only its driver chooses */
	IRQ_BOUND,	/* it does, and nobody chooses */
};

/*
 * The interrupt @number, a name in /proc/irq, from the capture of @audit, whose it stays.
 * False: it is none that a device can send.
 */
bool irq_look(struct audit *audit, const char *number, struct irq *irq);

enum irq_reach irq_reach(const struct irq *irq, const struct cpulist *cpus);

#endif
