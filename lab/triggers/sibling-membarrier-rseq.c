// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-membarrier-rseq
 * row: 21
 * class: queue
 * kind: self
 * notick: no
 * about: a sibling thread has the restartable sequences of all threads begin again
 */
#include <linux/membarrier.h>
#include "selftrigger.h"
#include "spin.h"

enum { ROUNDS = 5 };

static bool barrier(int command, unsigned int flags, int cpu)
{
	return !syscall(SYS_membarrier, command, flags, cpu);
}

static void run(struct self_answer *answer)
{
	const int again = MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ;
	int all = 0, one = 0;

	if (!barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0)) {
		self_say(answer, false, "registering: %s", strerror(errno));
		return;
	}
	for (int i = 0; i < ROUNDS; i++) {
		all += barrier(again, 0, 0);
		one += barrier(again, MEMBARRIER_CMD_FLAG_CPU, spin.opt.cpu);
	}
	self_say(answer, all == ROUNDS && one == ROUNDS,
		 "%d of %d barriers of all CPUs, %d of CPU %d", all, ROUNDS, one,
		 spin.opt.cpu);
}

SELF_TRIGGER(sibling_membarrier_rseq, "sibling-membarrier-rseq", run);
