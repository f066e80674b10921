// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: end-queued
 * cpus: 4
 * kernel: isolator
 * timeout: 30
 * about: an end from outside while a flush is queued: the end, the flush and the task all get on
 */
#include "../test.h"

#define ROUNDS 3

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

/*
 * False: the flush was over before the administrator came, so nothing was shown.  A host that
 * stands still for a second uses up D_spin, which may not be longer.
 */
static bool end_while_held(int round)
{
	struct worker *w = worker_new(1);
	pthread_t thread;
	uint64_t start;
	bool taken, in_time;

	w->deadline_ns = 20 * SEC;
	w->spin_ns = SEC;
	need_worker(worker_thread(w));
	asked = flushed = false;
	if (pthread_create(&thread, NULL, flush, NULL))
		bail_out("pthread_create");
	until(asked);
	wait_for(&w->queued, 1, 5000);
	start = now_ns();
	taken = !put_file("/proc/isolator/cpus", "3");
	/* What is restored last waits for a thread of that CPU, behind a FIFO task. */
	diag("round %d: all is restored after %lu ms", round, (now_ns() - start) / MS);
	pthread_join(thread, NULL);
	in_time = flushed_at >= start;
	if (in_time) {
		ok(w->queued >= 1, "round %d: the flush is queued", round);
		ok(taken, "round %d: the administrator takes the CPU away", round);
		ok(flushed && flushed_at - start < w->spin_ns,
		   "round %d: the flush is done after %lu ms, less than D_spin", round,
		   (flushed_at - start) / MS);
		ok(w->iso.page->end == ISOLATOR_END_ADMIN && !w->iso.page->missed,
		   "round %d: ended by the administrator, without a deadline miss", round);
	} else {
		ok(w->iso.page->missed, "round %d, once more: the flush was done %lu us before, by a miss",
		   round, (start - flushed_at) / 1000);
	}
	worker_end(w);
	put_file("/proc/isolator/cpus", "1-3");
	return in_time;
}

int main(void)
{
	int round = 1;

	iso_require(4);
	iso_pin(2);
	for (int tries = 0; round <= ROUNDS && tries < 2 * ROUNDS; tries++)
		round += end_while_held(round);
	ok(round > ROUNDS, "%d rounds of at most %d had a flush to end", ROUNDS, 2 * ROUNDS);
	return done_testing();
}
