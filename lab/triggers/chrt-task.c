// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: chrt-task
 * row: 48, 50
 * class: queue
 * kind: program
 * notick: no
 * about: another process changes the task's priority, and its scheduling class, and back
 */
#include <sched.h>
#include "task.h"

enum { ROUNDS = 3 };

/* Is the task seen to be scheduled so? */
static bool change(int tid, int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority }, now;

	need(!sched_setscheduler(tid, policy, &param));
	need(!sched_getparam(tid, &now));
	return sched_getscheduler(tid) == policy && now.sched_priority == priority;
}

int main(void)
{
	int tid = env_number("TASK_TID"), policy = sched_getscheduler(tid), seen = 0;
	struct sched_param home;

	need(policy >= 0 && !sched_getparam(tid, &home));
	for (int i = 0; i < ROUNDS; i++) {
		seen += change(tid, SCHED_FIFO, home.sched_priority + 1);
		seen += change(tid, policy, home.sched_priority);
		seen += change(tid, SCHED_OTHER, 0);
		usleep(2000);
		seen += change(tid, policy, home.sched_priority);
	}
	answer(seen == 4 * ROUNDS && task_goes_on(), "done",
	       "%d of %d changes read back", seen, 4 * ROUNDS);
}
