// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: signal-task
 * row: 50
 * class: queue
 * kind: program
 * notick: no
 * in: run check
 * about: signals with a handler are sent to the task, one after the other ran
 */
#include "ctl.h"
#include "trigger.h"

enum { ROUNDS = 5 };

static long long handled(void)
{
	char line[4096];
	int error = spinner_ask(SPINNER_SOCKET, "status", line, sizeof(line), SPINNER_MS);

	if (error)
		answer(false, "done", "no spinner: %s", strerror(-error));
	return spinner_number(line, "signals");
}

int main(void)
{
	int pid = env_number("TASK_PID"), tid = env_number("TASK_TID");
	long long before = handled(), now = before;

	for (int i = 0; i < ROUNDS; i++) {
		long long last = now;

		need(!syscall(SYS_tgkill, pid, tid, SIGUSR1));
		for (int wait = 0; wait < 1000 && (now = handled()) == last; wait++)
			usleep(2000);
	}
	answer(now - before == ROUNDS, "done", "%lld of %d handlers ran",
	       now - before, ROUNDS);
}
