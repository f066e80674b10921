// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: irq-spread
 * row: 64
 * class: exclude
 * kind: program
 * notick: no
 * about: a device's interrupt is allowed on all CPUs, as it is on most machines, and happens
 */
#define _GNU_SOURCE
#include "serialirq.h"
#include "task.h"

enum { ROUNDS = 3, TIMES = 4 };

int main(void)
{
	int iso = env_number("ISO_CPU"), seen = 0;
	char all[16], now[64], where[64];
	struct serialirq irq;
	long before, count;

	snprintf(all, sizeof(all), "0-%d", (int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
	serialirq_open(&irq);
	before = serialirq_count(&irq, iso);
	for (int i = 0; i < ROUNDS; i++) {
		need(!serialirq_set(&irq, all));
		for (int n = 0; n < TIMES; n++)
			serialirq_happens(&irq);
		serialirq_get(&irq, "smp_affinity_list", now, sizeof(now));
		serialirq_get(&irq, "effective_affinity_list", where, sizeof(where));
		seen += !strcmp(now, all);
		need(!serialirq_set(&irq, irq.home));
	}
	count = serialirq_count(&irq, iso) - before;
	answer(serialirq_close(&irq) && seen == ROUNDS && !(task_isolated() && count), "done",
	       "interrupt %d went to CPU %s, %ld times to CPU %d", irq.number, where, count,
	       iso);
}
