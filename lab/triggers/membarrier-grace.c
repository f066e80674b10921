// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: membarrier-grace
 * row: 23
 * class: queue
 * kind: program
 * notick: no
 * about: membarrier's oldest form, which waits for a grace period
 */
#include <linux/membarrier.h>
#include "trigger.h"

enum { ROUNDS = 3 };

int main(void)
{
	int done = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			done++;
		else if (errno == EINVAL)	/* of a kernel with nohz_full CPUs, by design */
			answer(!done, "refused", "EINVAL");
	}
	answer(done == ROUNDS, "done", "%d of %d barriers", done, ROUNDS);
}
