// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: affinity-task
 * row: 49
 * class: refuse
 * kind: program
 * notick: no
 * in: run
 * about: the task's affinity is changed to the housekeeping CPU, and back
 */
#include "trigger.h"

enum { ROUNDS = 3 };

int main(void)
{
	struct sched_param param = { .sched_priority = 90 };
	int tid = env_number("TASK_TID"), moved = 0, refused = 0;
	cpu_set_t home, other, now;

	/* Ahead of the task: where it can be moved it comes to our CPU. */
	need(!sched_setscheduler(0, SCHED_FIFO, &param));
	need(!sched_getaffinity(tid, sizeof(home), &home));
	CPU_ZERO(&other);
	CPU_SET(env_number("HK_CPU"), &other);
	for (int i = 0; i < ROUNDS; i++) {
		if (sched_setaffinity(tid, sizeof(other), &other)) {
			need(errno == EBUSY);
			refused++;
			continue;
		}
		need(!sched_getaffinity(tid, sizeof(now), &now));
		moved += CPU_EQUAL(&now, &other);
		need(!sched_setaffinity(tid, sizeof(home), &home));
	}
	need(!sched_getaffinity(tid, sizeof(now), &now));
	if (!CPU_EQUAL(&now, &home))
		answer(false, "done", "the task did not come home");
	if (refused)
		answer(refused == ROUNDS, "refused", "EBUSY %d times of %d",
		       refused, ROUNDS);
	answer(moved == ROUNDS, "done", "%d of %d moves there and back", moved, ROUNDS);
}
