/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What triggers of kind program ask about the task: is it isolated, does it go on? */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include <unistd.h>
#include "ctl.h"
#include "trigger.h"

static inline void task_status(char *line, size_t size)
{
	int error = spinner_ask(SPINNER_SOCKET, "status", line, size, SPINNER_MS);

	if (error)
		answer(false, "done", "no spinner: %s", strerror(-error));
}

static inline bool task_isolated(void)
{
	char line[4096] = "";

	task_status(line, sizeof(line));
	return strstr(line, "\"isolated\":true");
}

/* Is the task's loop seen to go on?  Waits for that, at most 2 s. */
static inline bool task_goes_on(void)
{
	char line[4096] = "";
	long long before;

	task_status(line, sizeof(line));
	before = spinner_number(line, "loops");
	for (int wait = 0; wait < 1000; wait++) {
		task_status(line, sizeof(line));
		if (spinner_number(line, "loops") > before)
			return true;
		usleep(2000);
	}
	return false;
}

/* The task's state as /proc shows it: R, S, T ... */
static inline char task_state(void)
{
	char name[64], line[512] = "";
	const char *end;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/stat",
		 env_number("TASK_PID"), env_number("TASK_TID"));
	f = fopen(name, "r");
	need(f && fgets(line, sizeof(line), f));
	fclose(f);
	end = strrchr(line, ')');	/* the name before may hold anything */
	return end ? end[2] : '?';
}

#endif
