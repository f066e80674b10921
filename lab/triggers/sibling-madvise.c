// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-madvise
 * row: 17
 * class: queue
 * kind: self
 * notick: no
 * in: run
 * about: a sibling thread drops page contents with MADV_DONTNEED
 */
#include "selftrigger.h"

enum { ROUNDS = 10, SIZE = 4 * 4096 };

static void run(struct self_answer *answer)
{
	volatile char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int zero = 0;

	if (p == MAP_FAILED || munlock((void *)p, SIZE)) {
		self_say(answer, false, "no memory to drop");
		return;
	}
	for (int i = 0; i < ROUNDS; i++) {
		memset((void *)p, 0x55, SIZE);
		if (madvise((void *)p, SIZE, MADV_DONTNEED))
			break;
		zero += !p[0] && !p[SIZE - 1];
	}
	munmap((void *)p, SIZE);
	self_say(answer, zero == ROUNDS, "%d of %d drops read as zero", zero, ROUNDS);
}

SELF_TRIGGER(sibling_madvise, "sibling-madvise", run);
