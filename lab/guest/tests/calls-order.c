// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: calls-order
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * once: yes
 * alone: yes
 * about: a sender that waits for an isolated CPU has interrupted those it called before
 */
#include <linux/membarrier.h>
#include "scftorture.h"

#define D_SPIN (300 * MS)

enum { WAITS = 8 };

static _Atomic bool there, over;

/* The third: no tick of its own takes what was queued without an interrupt. */
static void *spins(void *unused)
{
	if (iso_pin(1))
		bail_out("cannot run on CPU 1");
	there = true;
	while (!over)
		;
	return unused;
}

/*
 * Calls CPU 1 all the time, until CPU 0 has waited so often for the isolated CPU: how many took
 * half of such a wait and more?
 */
static int calls(struct worker *w)
{
	uint64_t until = w->missed + WAITS;
	int slow = 0;

	while (w->missed < until) {
		uint64_t start = now_ns();

		if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
			bail_out("membarrier");
		slow += now_ns() - start > D_SPIN / 2;
	}
	return slow;
}

int main(void)
{
	struct worker *w = worker_new(3);
	pthread_t thread;
	int slow;

	iso_require(4);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    pthread_create(&thread, NULL, spins, NULL))
		bail_out("membarrier or thread");
	until(there);
	w->deadline_ns = 60 * SEC;
	w->spin_ns = D_SPIN;
	if (!worker_process(w) || iso_pin(2))
		bail_out("no isolated worker");
	/* A thread of CPU 0 calls all CPUs over and over, and waits for none but in between. */
	scftorture_begin(w);
	slow = calls(w);
	ok(slow < WAITS / 2,
	   "others call CPU 1 while CPU 0 waits %d times: %d of the calls were slow", WAITS, slow);
	/* What it has left there is taken before it goes. */
	w->tick_ms = 1;
	ok(!system("modprobe -r scftorture"), "scftorture ends");
	over = true;
	pthread_join(thread, NULL);
	worker_end(w);
	return done_testing();
}
