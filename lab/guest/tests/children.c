// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: children
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: children and new threads are not isolated and run on housekeeping CPUs
 */
#include "../test.h"

struct report {
	_Atomic int ran;
	int cpu, tick;
};

static struct report *report;
static struct iso iso;

static void look(struct report *r)
{
	r->cpu = sched_getcpu();
	r->tick = iso_tick(&iso, NULL);
	r->ran = 1;
}

static void *thread_body(void *arg)
{
	look(arg);
	return NULL;
}

/* The parent spins in user mode: a child that is to run must run elsewhere. */
static void check(const char *what, struct report *r)
{
	uint64_t end = now_ns() + 8 * SEC;

	while (!r->ran && now_ns() < end)
		;
	ok(r->ran, "%s: ran while its parent spun", what);
	ok(r->cpu != 1, "%s: on CPU %d", what, r->cpu);
	ok(r->tick == -ESRCH, "%s: is not isolated (%s)", what, strerror(-r->tick));
	ok(iso.page->state == ISOLATOR_STATE_ON, "%s: its parent still is", what);
}

int main(void)
{
	struct sched_param param = { .sched_priority = 50 };
	pthread_t thread;
	pid_t pid;

	iso_require(2);
	report = shared_memory(4096);
	if (iso_pin(1) || sched_setscheduler(0, SCHED_FIFO, &param) ||
	    mlockall(MCL_CURRENT | MCL_FUTURE) || iso_start(&iso, 30 * SEC, 0))
		bail_out("start");
	pid = fork();
	if (!pid) {
		look(&report[0]);
		_exit(0);
	}
	check("fork", &report[0]);
	waitpid(pid, NULL, 0);
	errno = pthread_create(&thread, NULL, thread_body, &report[1]);
	if (ok(!errno, "a thread is created")) {
		check("thread", &report[1]);
		pthread_join(thread, NULL);
	}
	ok(!iso.page->missed, "no deadline miss: %llu", iso.page->missed);
	ok(!iso_stop(&iso), "stop");
	return done_testing();
}
