/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's clocksources: when it changes to another one all CPUs stop. */
#ifndef LAB_CLOCKS_H
#define LAB_CLOCKS_H

#include <stdio.h>
#include "../test.h"

#define CLOCKS	"/sys/devices/system/clocksource/clocksource0/"

static char clocks[2][32];

/* The present one, and another. */
static inline bool two_clocks(void)
{
	char list[256], *word;

	if (get_file(CLOCKS "current_clocksource", clocks[0], sizeof(clocks[0])) ||
	    get_file(CLOCKS "available_clocksource", list, sizeof(list)))
		return false;
	clocks[0][strcspn(clocks[0], " \n")] = 0;
	for (word = strtok(list, " \n"); word; word = strtok(NULL, " \n"))
		if (strcmp(word, clocks[0]))
			snprintf(clocks[1], sizeof(clocks[1]), "%s", word);
	return clocks[1][0];
}

#endif
