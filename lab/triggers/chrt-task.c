// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: chrt-task
 * row: 48, 50
 * class: hold
 * kind: program
 * notick: no
 * about: another process raises the task's priority and lowers it again
 */
#define _GNU_SOURCE
#include <sched.h>
#include "task.h"

enum { ROUNDS = 5 };

int main(void)
{
	int tid = env_number("TASK_TID"), policy = sched_getscheduler(tid), seen = 0;
	struct sched_param home, more, now;

	need(policy >= 0 && !sched_getparam(tid, &home));
	more.sched_priority = home.sched_priority + 1;
	for (int i = 0; i < ROUNDS; i++) {
		need(!sched_setscheduler(tid, policy, &more));
		need(!sched_getparam(tid, &now));
		seen += now.sched_priority == more.sched_priority;
		need(!sched_setscheduler(tid, policy, &home));
		need(!sched_getparam(tid, &now));
		seen += now.sched_priority == home.sched_priority;
	}
	answer(seen == 2 * ROUNDS && task_goes_on(), "done",
	       "%d of %d changes read back", seen, 2 * ROUNDS);
}
