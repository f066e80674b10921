// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-munmap
 * row: 17
 * class: queue
 * kind: self
 * notick: no
 * in: run check
 * about: a sibling thread unmaps pages: user TLB flushes of the task's own process
 */
#include "selftrigger.h"

enum { ROUNDS = 10, SIZE = 16 * 4096 };

static void run(struct self_answer *answer)
{
	unsigned char vec[SIZE / 4096];
	int gone = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			break;
		memset(p, i, SIZE);
		if (munmap(p, SIZE))
			break;
		gone += mincore(p, SIZE, vec) && errno == ENOMEM;
	}
	self_say(answer, gone == ROUNDS, "%d of %d mappings gone", gone, ROUNDS);
}

SELF_TRIGGER(sibling_munmap, "sibling-munmap", run);
