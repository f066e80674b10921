// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-lose-wakeup
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 60
 * about: planted fault: the isolated CPU is not told of what it holds
 */
#include "fault.h"

/* Enters the kernel when something is due, but by no tick: a tick may sleep. */
static void enter(struct worker *w)
{
	static uint64_t last;

	if (!w->due || now_ns() < last + 10 * MS)
		return;
	last = now_ns();
	syscall(SYS_getppid);
}

/* What is queued runs at any kernel entry, long before its deadline. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	int quick = 0, rounds = 5;

	w->each = enter;
	w->spin_ns = SEC;
	w->deadline_ns = 5 * SEC;
	need_worker(worker_thread(w));
	for (int i = 0; i < rounds; i++) {
		uint64_t start = now_ns();

		ask_flush();
		quick += now_ns() - start < 800 * MS;
	}
	diag("%d of %d flushes were quick, %llu deadline misses", quick, rounds, w->iso.page->missed);
	worker_end(w);
	/*
	 * With the fault each waits for its bound, but for one that meets an entry of another
	 * cause; without it a busy host may hold one.
	 */
	return quick > rounds / 2;
}

int main(void)
{
	iso_require(2);
	return with_fault("lose_wakeup", check);
}
