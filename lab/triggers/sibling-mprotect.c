// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-mprotect
 * row: 17
 * class: queue
 * kind: self
 * notick: no
 * in: run
 * about: a sibling thread takes write permission away and gives it back
 */
#include <setjmp.h>
#include <signal.h>
#include "selftrigger.h"

enum { ROUNDS = 10, SIZE = 8 * 4096 };

static __thread sigjmp_buf back;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static void run(struct self_answer *answer)
{
	struct sigaction sa = { .sa_handler = on_fault }, old;
	volatile int refused = 0, taken = 0;
	volatile char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		self_say(answer, false, "mmap failed");
		return;
	}
	sigaction(SIGSEGV, &sa, &old);
	for (volatile int i = 0; i < ROUNDS; i++) {
		p[0] = 1;
		if (mprotect((void *)p, SIZE, PROT_READ))
			break;
		if (sigsetjmp(back, 1))
			refused++;
		else
			p[0] = 2;
		if (mprotect((void *)p, SIZE, PROT_READ | PROT_WRITE))
			break;
		p[0] = 3;
		taken += p[0] == 3;
	}
	sigaction(SIGSEGV, &old, NULL);
	munmap((void *)p, SIZE);
	self_say(answer, refused == ROUNDS && taken == ROUNDS,
		 "%d writes refused, %d taken, of %d", refused, taken, ROUNDS);
}

SELF_TRIGGER(sibling_mprotect, "sibling-mprotect", run);
