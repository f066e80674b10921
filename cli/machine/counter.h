/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of the CPU that follow the calling thread (perf_event_open(2)). */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdbool.h>
#include <stdint.h>

struct counter {
	int file;
	const void *page;	/* NULL: only the kernel can read it */
};

/* The type of the PMU that counts on @cpu, for raw events. */
uint32_t counter_pmu(int cpu);

/*
 * Counts @config of PMU @type for the calling thread, in the kernel only if
 * @kernel_only.  0, or an errno.
 */
int counter_open(struct counter *counter, uint32_t type, uint64_t config, bool kernel_only);

/* The kernel's instructions of the calling thread, on @cpu.  0, or an errno. */
int counter_open_instructions(struct counter *counter, int cpu);

void counter_close(struct counter *counter);

/* Without a kernel entry.  False: it cannot be read so, at least not now. */
bool counter_read_user(const void *page, uint64_t *count);

/* By a system call.  False: it counts nothing, as another has its place. */
bool counter_read(int file, uint64_t *count);

/* Why counter_open() failed, and what helps. */
const char *counter_error(int error);

#endif
