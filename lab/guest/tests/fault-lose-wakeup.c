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

enum { ROUNDS = 8 };

/* What is queued runs at any kernel entry, long before its deadline. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	uint64_t missed;

	w->each = enter;
	w->spin_ns = SEC;
	w->deadline_ns = 5 * SEC;
	need_worker(worker_thread(w));
	for (int i = 0; i < ROUNDS; i++)
		ask_flush();
	missed = w->iso.page->missed;
	diag("%lu deadline misses in %d flushes", missed, ROUNDS);
	worker_end(w);
	/*
	 * With the fault each waits for its bound, but for those that meet an entry of another
	 * cause; without it a busy host may hold one.
	 */
	return missed <= 1;
}

int main(void)
{
	iso_require(2);
	return with_fault("lose_wakeup", check);
}
