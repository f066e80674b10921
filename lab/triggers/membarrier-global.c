// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: membarrier-global
 * row: 20, 22
 * class: queue
 * kind: self
 * notick: no
 * in: run
 * about: global expedited membarrier while the task's process is registered for it
 */
#include <linux/membarrier.h>
#include "selftrigger.h"

enum { ROUNDS = 10 };

static void run(struct self_answer *answer)
{
	int done = 0;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0)) {
		self_say(answer, false, "register: %s", strerror(errno));
		return;
	}
	for (int i = 0; i < ROUNDS; i++)
		done += !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
	self_say(answer, done == ROUNDS, "%d of %d barriers", done, ROUNDS);
}

SELF_TRIGGER(membarrier_global, "membarrier-global", run);
