/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A host that stands still holds a CPU for longer than D_spin, which is a second at most.  Whoever
 * waits for that CPU makes a deadline miss then, on a correct kernel too.  A wrong kernel has it in
 * each try, a correct one hardly in three.
 */
#ifndef LAB_TRIES_H
#define LAB_TRIES_H

#include "../test.h"

enum { TRIES = 3 };

/*
 * @what must hold in one of so many tries.  @once makes a new start and all its other checks, which
 * must hold in each try, and returns how often @what did not, such as the deadline misses.
 */
static inline void ok_in_tries(const char *what, uint64_t (*once)(void))
{
	uint64_t against = 0;

	for (int i = 1; i <= TRIES; i++) {
		against = once();
		if (!against)
			break;
		diag("%s: not so in try %d of %d, %lu times%s", what, i, TRIES, against,
		     i < TRIES ? "; the host may have stood still, so once more" : "");
		show_deliveries();
	}
	ok(!against, "%s", what);
}

#endif
