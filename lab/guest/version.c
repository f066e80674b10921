// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a libisolator of some version says to the running kernel, a line each: the test
 * `versions` runs it, linked with libraries of several versions.
 */
#define _GNU_SOURCE
#include <isolator.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void tell(const char *what, int result)
{
	printf("%s %d%s%s\n", what, result, result < 0 ? ": " : "",
	       result < 0 ? isolator_strerror(result) : "");
}

int main(void)
{
	struct isolator_task_options soon = ISOLATOR_TASK_OPTIONS_INIT;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		return 1;
	}
	tell("start", isolator_start(ISOLATOR_MASK_ALL));
	printf("page %s\n", isolator_page() ? "yes" : "no");
	tell("tick", isolator_tick(TICK_ALL));
	tell("stop", isolator_stop());
	/* Of oneself it begins as this call returns, which therefore must not wait. */
	soon.flags = 0;
	tell("task", isolator_start_task((pid_t)syscall(SYS_gettid), &soon, NULL));
	tell("stop-task", isolator_stop_task((pid_t)syscall(SYS_gettid)));
	return 0;
}
