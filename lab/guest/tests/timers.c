// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: timers
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: timers that the task arms for signals, and its CPU limits, make a tick due and come at it
 */
#include <sys/time.h>
#include "../test.h"

/*
 * Spins without a tick until the page says that one is due, then ticks: the
 * signal comes now and did not come before.
 */
static void comes_at_tick(const struct iso *iso, const char *what, uint32_t bits,
			  unsigned int at_ms, unsigned int within_ms)
{
	uint64_t start = now_ns(), end = start + within_ms * MS, early;

	while (!(iso->page->due & bits) && now_ns() < end)
		;
	early = handled;
	ok(iso->page->due & bits, "%s: a tick is due after %lu ms, armed for %u ms", what,
	   (now_ns() - start) / MS, at_ms);
	ok(!early, "%s: nothing came before the tick", what);
	iso_tick(iso, NULL);
	/* Where the timer ran at this tick, the signal is the next one's. */
	iso_tick(iso, NULL);
	ok(handled >= 1, "%s: the handler ran", what);
	if (!ok(!iso->page->missed, "%s: no deadline miss", what))
		show_deliveries();
	handled = 0;
}

/*
 * The kernel counts RLIMIT_RTTIME in ticks: the ones that an isolated CPU has not
 * count, and what the task slept does not.
 */
static void rttime(const struct iso *iso)
{
	struct sched_param param = { .sched_priority = 10 };
	struct rlimit limit = { 300000, 20000000 }, none = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t start, took;

	if (sched_setscheduler(0, SCHED_FIFO, &param) || setrlimit(RLIMIT_RTTIME, &limit))
		bail_out("RLIMIT_RTTIME");
	/* A host that took the CPU meanwhile made it longer than the limit: then once more. */
	for (int i = 0; i < 10; i++) {
		handled = 0;
		start = now_ns();
		spin_ms(200);
		iso_tick(iso, NULL);
		took = now_ns() - start;
		sleep_ms(300);	/* sleep: this is not of its time */
		iso_tick(iso, NULL);
		if (took < 280 * MS)
			break;
		diag("RLIMIT_RTTIME: 200 ms took %lu", took / MS);
	}
	ok(!handled, "RLIMIT_RTTIME: 200 ms, a sleep, and no signal");
	start = now_ns();
	while (!handled && now_ns() < start + 5 * SEC) {
		spin_ms(10);
		iso_tick(iso, NULL);
	}
	/* Counted in its own ticks it would be 3 s; one that yields begins anew. */
	ok(handled && now_ns() - start >= 250 * MS && now_ns() - start < 2 * SEC,
	   "RLIMIT_RTTIME: SIGXCPU after %lu ms of 10 ms ticks, limit 300 ms",
	   (now_ns() - start) / MS);
	setrlimit(RLIMIT_RTTIME, &none);
	handled = 0;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = count_signal };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec in_100ms = { .it_value.tv_nsec = 100000000 };
	struct itimerval prof = { .it_value.tv_usec = 200000 };
	struct rlimit cpu = { 2, 20 };
	struct iso iso;
	timer_t timer;

	iso_require(2);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGPROF, &sa, NULL);
	sigaction(SIGXCPU, &sa, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || iso_pin(1) ||
	    iso_start(&iso, 20 * SEC, 0))
		bail_out("set-up");
	timer_settime(timer, 0, &in_100ms, NULL);
	comes_at_tick(&iso, "timer", ISOLATOR_DUE_SIGNAL | ISOLATOR_DUE_TIMER, 100, 1000);

	setitimer(ITIMER_PROF, &prof, NULL);
	spin_ms(500);
	comes_at_tick(&iso, "CPU time timer", ~0U, 200, 1000);

	rttime(&iso);
	setrlimit(RLIMIT_CPU, &cpu);
	spin_ms(3000);
	comes_at_tick(&iso, "RLIMIT_CPU", ~0U, 2000, 1000);
	iso_stop(&iso);
	return done_testing();
}
