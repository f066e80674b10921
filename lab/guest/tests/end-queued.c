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

static _Atomic bool flushed;
static _Atomic uint64_t asked_at, flushed_at;

static void *flush(void *arg)
{
	(void)arg;
	iso_pin(0);
	asked_at = now_ns();
	flushed = ask_flush();
	flushed_at = now_ns();
	return NULL;
}

/*
 * False: a deadline miss ended the wait, so nothing was shown.  A host that stands still for a
 * second uses up D_spin, which may not be longer.
 */
static bool end_while_held(int round)
{
	struct worker *w = worker_new(1);
	pthread_t thread;
	uint64_t start, held;
	bool taken, missed;

	w->deadline_ns = 20 * SEC;
	w->spin_ns = SEC;
	need_worker(worker_thread(w));
	asked_at = 0;
	flushed = false;
	if (pthread_create(&thread, NULL, flush, NULL))
		bail_out("pthread_create");
	until(asked_at);
	wait_for(&w->queued, 1, 5000);
	start = now_ns();
	taken = !put_file("/proc/isolator/cpus", "3");
	/* What is restored last waits for a thread of that CPU, behind a FIFO task. */
	diag("round %d: all is restored after %lu ms", round, (now_ns() - start) / MS);
	pthread_join(thread, NULL);
	held = flushed_at - asked_at;
	missed = w->iso.page->missed;
	if (!missed) {
		ok(w->queued >= 1, "round %d: the flush is queued", round);
		ok(taken, "round %d: the administrator takes the CPU away", round);
		ok(flushed, "round %d: the flush is done after %lu ms, without a deadline miss",
		   round, held / MS);
		ok(w->iso.page->end == ISOLATOR_END_ADMIN,
		   "round %d: ended by the administrator", round);
	} else if (!ok(held >= w->spin_ns,
		       "round %d, once more: a miss ended the wait, after %lu ms",
		       round, held / MS)) {
		show_deliveries();
	}
	worker_end(w);
	put_file("/proc/isolator/cpus", "1-3");
	return !missed;
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
