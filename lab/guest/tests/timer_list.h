/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which timers are active, by the kernel's list. */
#ifndef LAB_TIMER_LIST_H
#define LAB_TIMER_LIST_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TIMER_LOOKS = 10 };

/* One look, which may show too few. */
static inline bool timer_listed(const char *function, int cpu)
{
	FILE *f = fopen("/proc/timer_list", "r");
	bool found = false;
	char line[512];
	int at = -1;

	while (f && !found && fgets(line, sizeof(line), f)) {
		sscanf(line, "cpu: %d", &at);
		found = (cpu < 0 || at == cpu) && strstr(line, " #") && strstr(line, function);
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * Is a timer active on this CPU, -1 for any, whose function has this in its name?  A timer that is
 * being handled is on no list, and the last one is not shown where one before it leaves the list
 * meanwhile: what is not seen in several looks is not there.
 */
static inline bool timer_active(const char *function, int cpu)
{
	for (int i = 0; i < TIMER_LOOKS; i++)
		if (timer_listed(function, cpu))
			return true;
	return false;
}

#endif
