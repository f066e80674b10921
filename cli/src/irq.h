/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interrupts that devices send: where each may go, and who chooses that. */
#ifndef IRQ_H
#define IRQ_H

#include <stdbool.h>

#include "cpulist.h"

struct audit;
struct capture_file;

struct irq {
	const char *number;
	const struct capture_file *file;	/* the affinity that was asked for */
	struct cpulist asked;
	struct cpulist goes;			/* where it goes */
	bool managed;				/* only its driver chooses */
	bool bound;				/* nobody chooses: one for each CPU */
};

/*
 * The interrupt @number, a name in /proc/irq, from the capture of @audit, whose it stays.
 * False: it is none that a device can send.
 */
bool irq_look(struct audit *audit, const char *number, struct irq *irq);

#endif
