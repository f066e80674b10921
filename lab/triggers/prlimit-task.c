// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: prlimit-task
 * row: 116
 * class: queue
 * kind: program
 * notick: no
 * about: the task's process gets a limit of CPU time, which has to be watched, and loses it
 */
#include <sys/resource.h>
#include <unistd.h>
#include "cputimer.h"

enum { ROUNDS = 2, LIMIT_S = 1000000 };

int main(void)
{
	int pid = env_number("TASK_PID"), seen = 0;
	struct rlimit home, now;

	need(!prlimit(pid, RLIMIT_CPU, NULL, &home));
	for (int i = 0; i < ROUNDS; i++) {
		struct rlimit limit = { LIMIT_S + i, home.rlim_max };

		need(!prlimit(pid, RLIMIT_CPU, &limit, NULL));
		need(!prlimit(pid, RLIMIT_CPU, NULL, &now));
		seen += now.rlim_cur == limit.rlim_cur;
		usleep(50000);
	}
	need(!prlimit(pid, RLIMIT_CPU, &home, NULL));
	need(!prlimit(pid, RLIMIT_CPU, NULL, &now));
	seen += now.rlim_cur == home.rlim_cur;
	/* Stock Linux would go on ticking for a limit that is gone. */
	need(cpu_timer_expires(pid, 1000000));
	answer(seen == ROUNDS + 1, "done", "%d of %d limits read back", seen, ROUNDS + 1);
}
