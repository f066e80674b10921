// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: cpu-timer-task
 * row: 116
 * class: queue
 * kind: program
 * notick: no
 * about: another process sets timers on the CPU time that the task uses
 */
#include "cputimer.h"

enum { ROUNDS = 3, STEP_NS = 20000000 };

static double used(int pid)
{
	struct timespec now;
	clockid_t clock;

	errno = clock_getcpuclockid(pid, &clock);
	need(!errno && !clock_gettime(clock, &now));
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(void)
{
	int pid = env_number("TASK_PID"), expired = 0;

	for (int i = 0; i < ROUNDS; i++) {
		double before = used(pid);

		expired += cpu_timer_expires(pid, STEP_NS) &&
			used(pid) - before >= STEP_NS * 1e-9;
	}
	answer(expired == ROUNDS, "done", "%d of %d timers expired, none early",
	       expired, ROUNDS);
}
