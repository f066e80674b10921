// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-mremap
 * row: 17
 * class: queue
 * kind: self
 * notick: no
 * about: a sibling thread moves pages to another address
 */
#include "selftrigger.h"

enum { ROUNDS = 10, SIZE = 4 * 4096 };

static char *room(void)
{
	return mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void run(struct self_answer *answer)
{
	char *p = room();
	int moved = 0;

	for (int i = 0; i < ROUNDS && p != MAP_FAILED; i++) {
		char *old = p, *to = room();

		if (to == MAP_FAILED)
			break;
		memset(p, 'a' + i, SIZE);
		p = mremap(p, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
		if (p != to) {
			munmap(to, SIZE);
			p = old;
			break;
		}
		moved += p[0] == 'a' + i && p[SIZE - 1] == 'a' + i &&
			msync(old, SIZE, MS_ASYNC);	/* nothing is left there */
	}
	if (p != MAP_FAILED)
		munmap(p, SIZE);
	self_say(answer, moved == ROUNDS, "%d of %d moves took the contents along",
		 moved, ROUNDS);
}

SELF_TRIGGER(sibling_mremap, "sibling-mremap", run);
