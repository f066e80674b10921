// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: strict
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: strict mode: what sleeps waits for ever, what spins is still bounded
 */
#include "../test.h"

int main(void)
{
	struct worker *w = worker_new(1);
	_Atomic bool *go;
	uint64_t start;
	int status, waited;
	pid_t pid;

	iso_require(2);
	if (!can_ask_kworker())
		bail_out("no tracing");
	/* Asks for work of a kernel thread of CPU 1 and sleeps until it is done. */
	go = shared_memory(4096);
	pid = fork();
	if (!pid) {
		while (!*go)
			sleep_ms(10);	/* sleep: between two looks */
		_exit(ask_kworker() ? 0 : 1);
	}
	w->deadline_ns = ISOLATOR_DEADLINE_NEVER;
	w->spin_ns = 300 * MS;
	/* An emulated debug kernel needs the default for its own naps: no thread got further. */
	w->yield_ns = 20 * MS;
	need_worker(worker_thread(w));
	ok(w->iso.start.deadline_ns == ISOLATOR_DEADLINE_NEVER, "strict mode is in force");

	*go = true;
	sleep_ms(3000);	/* sleep: it does not come back meanwhile */
	ok(waitpid(pid, &status, WNOHANG) == 0, "the request still waits after 3 s");
	ok(!w->iso.page->missed, "without a deadline miss");
	ok(w->iso.page->due & ISOLATOR_DUE_RESCHED, "and a tick is due");
	ok(worker_tick(w, 2000), "one tick");
	for (waited = 0; waited < 2000; waited += 10) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		worker_tick(w, 100);
		sleep_ms(10);	/* sleep: between two looks */
	}
	ok(waited < 2000 && !status, "lets it run: it returned after %d ms", waited);
	ok(!w->iso.page->missed, "still without a deadline miss");

	start = now_ns();
	ask_flush();
	/* Without that bound it would wait for good. */
	ok(now_ns() - start < 30 * SEC && w->iso.page->missed == 1,
	   "a sender that spins is bounded: %lu ms, %llu deadline miss", (now_ns() - start) / MS,
	   w->iso.page->missed);
	worker_end(w);
	return done_testing();
}
