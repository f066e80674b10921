// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sigstop-task
 * row: 50
 * class: queue
 * kind: program
 * notick: no
 * about: the task's process is stopped by a signal and continued
 */
#include <signal.h>
#include "task.h"

enum { ROUNDS = 3, PATIENCE = 2000 };

int main(void)
{
	int pid = env_number("TASK_PID"), stopped = 0, resumed = 0;

	for (int i = 0; i < ROUNDS; i++) {
		bool there = false;

		need(!kill(pid, SIGSTOP));
		for (int wait = 0; wait < PATIENCE && !there; wait++) {
			usleep(1000);
			there = task_state() == 'T';
		}
		need(!kill(pid, SIGCONT));
		stopped += there;
		resumed += task_goes_on() && task_state() != 'T';
	}
	answer(stopped == ROUNDS && resumed == ROUNDS, "done",
	       "stopped %d times of %d and went on %d times", stopped, ROUNDS, resumed);
}
