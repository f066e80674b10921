// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: many-timers
 * cpus: 2
 * kernel: isolator
 * timeout: 180
 * about: thousands of timers on a CPU that is isolated do not keep it from taking interrupts
 */
#include <linux/membarrier.h>
#include "../test.h"

enum { TIMERS = 60000, TRIES = 3 };

static _Atomic uint64_t armed, start_at, end_at;
static _Atomic int error;

/* Armed in an hour, on this CPU, which is isolated then: they have to move. */
static void *isolates(void *arg)
{
	const struct itimerspec hour = { .it_value.tv_sec = 3600 };
	/* Of SIGEV_NONE the kernel would start no timer. */
	struct sigevent signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct iso iso = { .fd = -1 };
	uint64_t n;

	error = iso_pin(1);
	for (n = 0; !error && n < TIMERS; n++) {
		timer_t timer;

		if (timer_create(CLOCK_MONOTONIC, &signal, &timer) ||
		    timer_settime(timer, 0, &hour, NULL))
			break;
	}
	if (!error && n != TIMERS)
		error = -1;
	armed = n + 1;
	/* The move is part of the way back to user mode: until then nothing is queued. */
	start_at = now_ns();
	if (!error)
		error = iso_start(&iso, 0, SEC);
	end_at = now_ns();
	if (!error)
		iso_stop(&iso);
	iso_close(&iso);
	return arg;
}

struct seen {
	int error;
	uint64_t longest, whole, asked;
};

/* One start, of a process of its own: its timers end with it. */
static void look(struct seen *seen)
{
	pthread_t thread;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		bail_out("membarrier registration");
	pthread_create(&thread, NULL, isolates, NULL);
	if (!wait_for(&armed, 1, 60000))
		bail_out("timers are not armed");
	/* Each of these is an interrupt of CPU 1 that is waited for. */
	while (!end_at) {
		uint64_t before = now_ns(), took;

		if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
			bail_out("membarrier");
		took = now_ns() - before;
		if (took > seen->longest)
			seen->longest = took;
		seen->asked++;
	}
	pthread_join(thread, NULL);
	seen->whole = end_at - start_at;
	seen->error = error;
	_exit(0);
}

int main(void)
{
	const struct rlimit most = { TIMERS + 1000, TIMERS + 1000 };
	struct seen *seen = shared_memory(TRIES * sizeof(*seen));
	bool taken = false;

	iso_require(2);
	if (setrlimit(RLIMIT_SIGPENDING, &most))
		bail_out("set-up");
	/* A host that holds the guest holds a start, too: one that it leaves alone is enough. */
	for (int i = 0; i < TRIES && !taken; i++, seen++) {
		pid_t pid = fork();

		if (!pid)
			look(seen);
		if (waitpid(pid, NULL, 0) != pid || !seen->whole)
			bail_out("a start");
		ok(!seen->error, "%d timers armed on CPU 1, which is isolated then: %d", TIMERS,
		   seen->error);
		diag("the start took %lu ms; of %lu interrupts meanwhile the slowest took %lu us",
		     seen->whole / MS, seen->asked, seen->longest / 1000);
		taken = seen->longest < seen->whole / 4;
	}
	ok(taken, "a start takes interrupts all the time");
	return done_testing();
}
