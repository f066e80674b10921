// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: hotplug
 * cpus: 4
 * kernel: isolator
 * timeout: 90
 * about: taking CPUs offline: isolation of the target ends first, others stay isolated
 */
#include <sys/socket.h>
#include <sys/time.h>
#include "../test.h"

#define CPU(n) "/sys/devices/system/cpu/cpu" #n "/online"

/* A task on CPU 1 that waits long: the time-out of a socket is a timer of the wheel. */
static pid_t waiter(void)
{
	struct timeval timeout = { .tv_sec = 3000 };
	_Atomic uint64_t *waits = shared_memory(4096);
	pid_t pid = fork();
	int pair[2];
	char path[32], byte;

	if (pid) {
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
		until(*waits && file_has(path, "State:\tS", NULL));
		return pid;
	}
	if (iso_pin(1) || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) ||
	    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		_exit(1);
	++*waits;
	_exit(recv(pair[0], &byte, 1, 0) < 0);
}

/* Timers that a CPU had when it went are no work for an isolation when it is back. */
static void with_timer(void)
{
	struct worker *w = worker_new(1);
	pid_t pid = waiter();

	ok(!put_file(CPU(1), "0") && !put_file(CPU(1), "1"), "a CPU with a timer goes and comes");
	w->deadline_ns = SEC;
	if (ok(worker_process(w), "it is isolated, without ticks")) {
		sleep_ms(1500);	/* sleep: longer than its deadline */
		worker_tells(w);
		/* A kernel thread that follows the CPU's return may miss it; the log shows it. */
		if (w->missed)
			show_deliveries();
		ok(!file_has("/proc/isolator/deliveries", "cpu 1 ", "kind timer", NULL),
		   "no timer that is gone is waited for");
		worker_end(w);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	struct worker *w1 = worker_new(1), *w2 = worker_new(2), *again = worker_new(1);

	iso_require(4);
	with_timer();
	w1->tick_ms = w2->tick_ms = 10;
	if (!worker_process(w1) || !worker_process(w2)) {
		ok(false, "no isolated workers");
		return done_testing();
	}
	ok(!put_file(CPU(3), "0"), "a housekeeping CPU goes offline");
	ok(!put_file(CPU(3), "1"), "and comes back");
	worker_tells(w1);
	worker_tells(w2);
	ok(w1->end == ISOLATOR_END_NONE && w2->end == ISOLATOR_END_NONE,
	   "nobody's isolation ended");
	w1->tick_ms = 0;
	worker_tells(w1);
	ok(!put_file(CPU(1), "0"), "an isolated CPU goes offline");
	ok(worker_runs_on(w1), "its task runs on elsewhere");
	worker_tells(w1);
	worker_tells(w2);
	ok(w1->end == ISOLATOR_END_HOTPLUG, "its page says hotplug: %u", w1->end);
	ok(w2->end == ISOLATOR_END_NONE, "the other is still isolated");
	ok(worker_runs_on(w2), "and runs");
	worker_end(w1);
	ok(!put_file(CPU(1), "1"), "the CPU comes back");
	again->tick_ms = 10;
	if (ok(worker_process(again), "and can be isolated again"))
		worker_end(again);
	worker_end(w2);
	return done_testing();
}
