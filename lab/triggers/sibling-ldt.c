// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-ldt
 * row: 19
 * class: queue
 * kind: self
 * arch: x86_64
 * needs: a local descriptor table (modify_ldt)
 * notick: no
 * about: a sibling thread writes segment descriptors, which all threads share
 */
#include <asm/ldt.h>
#include "selftrigger.h"

enum { ROUNDS = 5, WRITE = 0x11, SELECTOR = 7 /* the first local one, of user mode */ };

static bool set(const struct user_desc *desc)
{
	return !syscall(SYS_modify_ldt, WRITE, desc, sizeof(*desc));
}

/* The limit that this CPU sees there, 0 if there is no segment. */
static unsigned int limit(void)
{
	unsigned int found = 0;

	asm volatile("lsl %1, %0" : "+r" (found) : "r" (SELECTOR) : "cc");
	return found;
}

static void run(struct self_answer *answer)
{
	/* With all but these 0, an entry is empty. */
	const struct user_desc empty = { .read_exec_only = 1, .seg_not_present = 1 };
	int seen = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct user_desc desc = { .limit = 100 + i, .seg_32bit = 1, .useable = 1 };

		seen += set(&desc) && limit() == 100 + i;
		seen += set(&empty) && !limit();
	}
	self_say(answer, seen == 2 * ROUNDS, "%d of %d descriptors came and went",
		 seen, 2 * ROUNDS);
}

SELF_TRIGGER(sibling_ldt, "sibling-ldt", run);
