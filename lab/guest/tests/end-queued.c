// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: end-queued
 * cpus: 4
 * kernel: isolator
 * timeout: 30
 * about: an end from outside while a flush is queued: the end, the flush and the task all get on
 */
#include "../test.h"

static _Atomic bool asked, flushed;
static _Atomic uint64_t flushed_at;

static void *flush(void *arg)
{
	(void)arg;
	iso_pin(0);
	asked = true;
	flushed = ask_flush();
	flushed_at = now_ns();
	return NULL;
}

static void end_while_held(int round)
{
	struct worker *w = worker_new(1);
	pthread_t thread;
	uint64_t start;

	w->deadline_ns = 20 * SEC;
	w->spin_ns = SEC;
	need_worker(worker_thread(w));
	asked = flushed = false;
	if (pthread_create(&thread, NULL, flush, NULL))
		bail_out("pthread_create");
	until(asked);
	wait_for(&w->queued, 1, 5000);
	ok(!flushed && w->queued >= 1, "round %d: the flush is queued", round);
	start = now_ns();
	ok(!put_file("/proc/isolator/cpus", "3"), "round %d: the administrator takes the CPU away",
	   round);
	/* What is restored last waits for a thread of that CPU, behind a FIFO task. */
	diag("round %d: all is restored after %lu ms", round, (now_ns() - start) / MS);
	pthread_join(thread, NULL);
	ok(flushed && flushed_at - start < w->spin_ns,
	   "round %d: the flush is done after %lu ms, less than D_spin", round,
	   (flushed_at - start) / MS);
	ok(w->iso.page->end == ISOLATOR_END_ADMIN && !w->iso.page->missed,
	   "round %d: ended by the administrator, without a deadline miss", round);
	worker_end(w);
	put_file("/proc/isolator/cpus", "1-3");
}

int main(void)
{
	iso_require(4);
	iso_pin(2);
	for (int round = 1; round <= 3; round++)
		end_while_held(round);
	return done_testing();
}
