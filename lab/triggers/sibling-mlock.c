// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-mlock
 * row: 28
 * class: queue
 * kind: self
 * notick: no
 * about: a sibling thread unlocks memory of its own and locks it again
 */
#include "selftrigger.h"

enum { ROUNDS = 5, PAGES = 16 };

/* Locked memory of this process in kB. */
static long locked(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmLck: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void run(struct self_answer *answer)
{
	void *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int seen = 0;

	for (int i = 0; i < ROUNDS && p != MAP_FAILED; i++) {
		long with = locked();

		seen += !munlock(p, PAGES * 4096) && locked() == with - PAGES * 4;
		seen += !mlock(p, PAGES * 4096) && locked() == with;
	}
	if (p != MAP_FAILED)
		munmap(p, PAGES * 4096);
	self_say(answer, seen == 2 * ROUNDS, "%d of %d changes seen in VmLck", seen,
		 2 * ROUNDS);
}

SELF_TRIGGER(sibling_mlock, "sibling-mlock", run);
