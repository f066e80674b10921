// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-fork
 * row: 17
 * class: queue
 * kind: self
 * notick: no
 * in: run
 * about: a sibling thread forks: the parent's pages would be write-protected
 */
#include <sys/wait.h>
#include "selftrigger.h"

enum { ROUNDS = 3 };

static void run(struct self_answer *answer)
{
	volatile int *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int apart = 0, status;

	for (int i = 0; i < ROUNDS && p != MAP_FAILED; i++) {
		pid_t child;

		*p = i;
		child = fork();
		if (child < 0)
			break;
		if (!child) {
			int seen = *p;

			*p = 1000;	/* must stay the child's own */
			_exit(seen == i ? 0 : 1);
		}
		if (waitpid(child, &status, 0) == child && !status && *p == i)
			apart++;
	}
	if (p != MAP_FAILED)
		munmap((void *)p, 4096);
	self_say(answer, apart == ROUNDS, "%d of %d children had their copy",
		 apart, ROUNDS);
}

SELF_TRIGGER(sibling_fork, "sibling-fork", run);
