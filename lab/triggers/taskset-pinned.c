// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: taskset-pinned
 * row: 48
 * class: refuse
 * kind: program
 * notick: no
 * about: a program is started with an affinity that names only the isolated CPU
 */
#include "trigger.h"

enum { ROUNDS = 3, PATIENCE = 200 };

/* As taskset(1) does it. */
static void start(const cpu_set_t *set)
{
	if (sched_setaffinity(0, sizeof(*set), set))
		_exit(errno == EBUSY ? 16 : 1);
	execl("/bin/true", "true", NULL);
	_exit(1);
}

/* It may have to wait behind the task, for ever: then it comes home to die. */
static int end(pid_t child, const cpu_set_t *home)
{
	int status = 0;

	sched_setaffinity(child, sizeof(*home), home);
	kill(child, SIGKILL);
	need(waitpid(child, &status, 0) == child);
	return status;
}

int main(void)
{
	int pinned = 0, ran = 0, refused = 0;
	cpu_set_t home, only, now;

	need(!sched_getaffinity(0, sizeof(home), &home));
	CPU_ZERO(&only);
	CPU_SET(env_number("ISO_CPU"), &only);
	for (int i = 0; i < ROUNDS; i++) {
		bool there = false, ended = false;
		int status = 0;
		pid_t child = fork();

		need(child >= 0);
		if (!child)
			start(&only);
		for (int wait = 0; wait < PATIENCE && !there && !ended; wait++) {
			usleep(1000);
			there = !sched_getaffinity(child, sizeof(now), &now) &&
				CPU_EQUAL(&now, &only);
			ended = waitpid(child, &status, WNOHANG) == child;
		}
		if (there)
			usleep(10000);
		if (!ended)
			status = end(child, &home);
		pinned += there;
		ran += WIFEXITED(status) && !WEXITSTATUS(status);
		refused += WIFEXITED(status) && WEXITSTATUS(status) == 16;
	}
	if (refused)
		answer(refused == ROUNDS, "refused", "EBUSY %d times of %d",
		       refused, ROUNDS);
	answer(pinned + ran >= ROUNDS, "done", "%d of %d seen pinned, %d ran to their end",
	       pinned, ROUNDS, ran);
}
