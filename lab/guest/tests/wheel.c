// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: wheel
 * cpus: 4
 * kernel: isolator
 * timeout: 120
 * about: no idle CPU counts on the tick of an isolated one for its timers
 */
#include <sys/socket.h>
#include <sys/time.h>
#include "../test.h"

enum { ROUNDS = 30 };

struct waits {
	_Atomic uint64_t done, longest;
};

/* The time-out of a socket is a timer of the wheel; the CPU idles meanwhile. */
static void wait_on(int cpu, struct waits *waits)
{
	struct timeval timeout = { .tv_usec = 20000 };
	int pair[2];
	char byte;

	iso_pin(cpu);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		_exit(1);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = now_ns(), took;

		recv(pair[0], &byte, 1, 0);
		took = now_ns() - start;
		if (took > waits->longest)
			waits->longest = took;
		waits->done++;
	}
	_exit(0);
}

int main(void)
{
	struct waits *waits = shared_memory(4096);
	struct worker *w[2] = { worker_new(1), worker_new(0) };
	pid_t pid;

	iso_require(4);
	iso_pin(2);
	put_file("/proc/isolator/cpus", "0-1");
	/* CPU 0 looks after the timers of idle CPUs, and gives that to whom it finds. */
	for (int i = 0; i < 2; i++) {
		w[i]->deadline_ns = 60 * SEC;
		w[i]->life_s = 90;
		need_worker(worker_process(w[i]));
	}
	pid = fork();
	if (!pid)
		wait_on(3, waits);
	wait_for(&waits->done, ROUNDS, 60000);
	ok(waits->done == ROUNDS, "%lu of %d time-outs on an idle CPU", waits->done, ROUNDS);
	/* One that nobody looks after waits for a deadline. */
	ok(waits->longest < 30 * SEC, "the longest after %lu ms, armed for 20 ms",
	   waits->longest / MS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		ok(!w[i]->missed, "CPU %d: no deadline miss", w[i]->cpu);
		worker_end(w[i]);
	}
	return done_testing();
}
