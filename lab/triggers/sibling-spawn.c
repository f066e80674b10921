// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-spawn
 * row: 17, 24
 * class: queue
 * kind: self
 * notick: no
 * about: a sibling thread starts programs, by posix_spawn and by fork and exec
 */
#include <spawn.h>
#include <sys/wait.h>
#include "selftrigger.h"

enum { ROUNDS = 2, CODE = 7 };

static char *const argv[] = { "sh", "-c", "exit 7", NULL };
static char *const envp[] = { NULL };

static bool ends(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		WEXITSTATUS(status) == CODE;
}

static void run(struct self_answer *answer)
{
	int spawned = 0, forked = 0;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t child;

		if (posix_spawn(&child, "/bin/sh", NULL, NULL, argv, envp))
			break;
		spawned += ends(child);
		child = fork();
		if (child < 0)
			break;
		if (!child) {
			execve("/bin/sh", argv, envp);
			_exit(1);
		}
		forked += ends(child);
	}
	self_say(answer, spawned == ROUNDS && forked == ROUNDS,
		 "%d of %d programs spawned and %d forked said what they were to",
		 spawned, ROUNDS, forked);
}

SELF_TRIGGER(sibling_spawn, "sibling-spawn", run);
