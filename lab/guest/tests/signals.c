// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: signals
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: other signals, stops and tracers wait for the next tick, and then come
 */
#include <sys/ptrace.h>
#include "../test.h"

static bool stopped(pid_t pid, int ms)
{
	int status;

	return comes(waitpid(pid, &status, WUNTRACED | WNOHANG | __WALL) == pid, ms) &&
	       WIFSTOPPED(status);
}

static void by_handler(void)
{
	struct worker *w = worker_new(1);

	w->deadline_ns = 10 * SEC;
	need_worker(worker_thread(w));
	for (int i = 1; i <= 3; i++) {
		syscall(SYS_tgkill, getpid(), w->tid, SIGUSR1);
		ok(comes(w->iso.page->due & ISOLATOR_DUE_SIGNAL, 2000),
		   "signal %d: a tick is due", i);
		sleep_ms(200);	/* sleep: the handler does not come meanwhile */
		ok(handled == (uint64_t)i - 1, "signal %d: no handler before the tick", i);
		worker_tick(w, 1000);
		ok(wait_for(&handled, (uint64_t)i, 1000), "signal %d: handled at the tick", i);
		ok(w->iso.page->state == ISOLATOR_STATE_ON, "signal %d: still isolated", i);
	}
	ok(!w->iso.page->missed, "no deadline miss");
	worker_end(w);
}

static void by_stop(void)
{
	struct worker *w = worker_new(1);
	uint64_t rounds;

	w->tick_ms = 20;
	w->deadline_ns = 10 * SEC;
	need_worker(worker_process(w));
	kill(w->tid, SIGSTOP);
	ok(stopped(w->tid, 2000), "SIGSTOP stops it");
	rounds = w->rounds;
	sleep_ms(100);	/* sleep: it does not move meanwhile */
	ok(w->rounds == rounds, "it stands still");
	kill(w->tid, SIGCONT);
	ok(worker_runs_on(w), "SIGCONT lets it go on");

	ok(!ptrace(PTRACE_SEIZE, w->tid, NULL, NULL), "a tracer attaches");
	ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL);
	ok(stopped(w->tid, 2000), "and stops it at a tick");
	ok(!ptrace(PTRACE_DETACH, w->tid, NULL, NULL), "and lets it go");
	ok(worker_runs_on(w) && !w->missed && !w->error,
	   "it goes on isolated, no deadline miss");
	worker_end(w);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = count_signal };

	iso_require(2);
	sigaction(SIGUSR1, &sa, NULL);
	by_handler();
	by_stop();
	return done_testing();
}
