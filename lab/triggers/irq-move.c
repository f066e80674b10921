// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: irq-move
 * row: 64
 * class: break
 * kind: program
 * notick: no
 * about: a device's interrupt is sent to the isolated CPU, and to nothing else, and back
 */
#define _GNU_SOURCE
#include "serialirq.h"

enum { ROUNDS = 3, TIMES = 4 };

int main(void)
{
	int iso = env_number("ISO_CPU"), there = 0;
	struct serialirq irq;
	long count = 0;
	char cpu[16];

	snprintf(cpu, sizeof(cpu), "%d", iso);
	serialirq_open(&irq);
	for (int i = 0; i < ROUNDS; i++) {
		long before = serialirq_count(&irq, iso);

		errno = serialirq_set(&irq, cpu);
		if (errno == EBUSY)
			answer(serialirq_close(&irq), "refused", "EBUSY");
		need(!errno);
		for (int n = 0; n < TIMES; n++)
			serialirq_happens(&irq);
		need(!serialirq_set(&irq, irq.home));
		for (int n = 0; n < TIMES; n++)
			serialirq_happens(&irq);
		there += serialirq_count(&irq, iso) > before;
		count += serialirq_count(&irq, iso) - before;
	}
	answer(serialirq_close(&irq) && there == ROUNDS, "done",
	       "interrupt %d came to CPU %d in %d of %d rounds, %ld times", irq.number, iso,
	       there, ROUNDS, count);
}
