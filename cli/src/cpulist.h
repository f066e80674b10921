/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs as the kernel writes them: 1,3-5 */
#ifndef CPULIST_H
#define CPULIST_H

#include <stdbool.h>
#include <stdint.h>

#define CPULIST_MAX 8192	/* no kernel is built for more */

struct cpulist {
	bool given;	/* false: it was never filled, and stands for all CPUs */
	uint64_t bits[CPULIST_MAX / 64];
};

/* False: @text is no list, and @list is unchanged. */
bool cpulist_parse(const char *text, struct cpulist *list);

/* Is @cpu in @list, or is the list not given? */
bool cpulist_has(const struct cpulist *list, int cpu);

#endif
