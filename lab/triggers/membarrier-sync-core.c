// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: membarrier-sync-core
 * row: 21, 22
 * class: queue
 * kind: self
 * notick: no
 * in: run
 * about: private expedited membarrier that serialises the cores, as a JIT does
 */
#include <linux/membarrier.h>
#include "selftrigger.h"

enum { ROUNDS = 10 };

static void run(struct self_answer *answer)
{
	int done = 0;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0)) {
		self_say(answer, false, "register: %s", strerror(errno));
		return;
	}
	for (int i = 0; i < ROUNDS; i++)
		done += !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	self_say(answer, done == ROUNDS, "%d of %d barriers", done, ROUNDS);
}

SELF_TRIGGER(membarrier_sync_core, "membarrier-sync-core", run);
