// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: gone
 * cpus: 2
 * kernel: isolator
 * timeout: 120
 * once: yes
 * about: a thread that moves away and a timer that is deleted while they wait are no deadline misses
 */
#include "../modules.h"
#include "../test.h"

#define TIMER	"/sys/module/lab_waits/parameters/timer"
#define DELIVERIES "/proc/isolator/deliveries"
#define D	(6 * SEC)

static struct shared {
	_Atomic uint64_t steps;
	_Atomic bool over;
} *shared;

/* Pinned to CPU 1 before that is isolated, as nothing can move there later; sleeps until told. */
static pid_t stepper(int told)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	if (iso_pin(1))
		_exit(1);
	shared->steps++;
	if (read(told, &byte, 1) != 1)
		_exit(1);
	while (!shared->over)
		shared->steps++;
	_exit(0);
}

/* Both wait, and cease to; how long that took. */
static uint64_t wait_and_go(const struct worker *w, pid_t pid, int tell)
{
	uint64_t began = now_ns(), steps;

	if (write(tell, "x", 1) != 1 || put_file(TIMER, "1"))
		bail_out("neither a thread nor a timer can be made to wait");
	until((w->due & (ISOLATOR_DUE_RESCHED | ISOLATOR_DUE_TIMER)) ==
	      (ISOLATOR_DUE_RESCHED | ISOLATOR_DUE_TIMER));
	steps = shared->steps;
	if (iso_pin_task(pid, 0) || put_file(TIMER, "-1"))
		bail_out("the thread cannot be moved, nor the timer deleted");
	until(shared->steps > steps);
	return now_ns() - began;
}

int main(void)
{
	struct worker *w = worker_new(1);
	uint64_t took;
	int told[2];
	bool missed;
	pid_t pid;

	iso_require(2);
	if (!module_load("lab_waits"))
		bail_out("no module lab_waits: it comes with kernel/build");
	shared = shared_memory(sizeof(*shared));
	if (pipe(told))
		bail_out("pipe");
	pid = stepper(told[0]);
	until(shared->steps);
	w->deadline_ns = D;
	need_worker(worker_process(w));
	/* What its start has left there, threads of the CPU among it. */
	for (int i = 0; i < 10 && w->due; i++) {
		worker_tick(w, 5000);
		worker_tells(w);
	}
	took = wait_and_go(w, pid, told[1]);
	ok(took < D / 2, "a thread and a timer of the isolated CPU wait for %lu ms", took / MS);
	sleep_ms(D / MS * 3 / 2);	/* sleep: no deadline miss comes */
	worker_tells(w);

	/* A thread of the kernel's may wait there, and be missed rightly. */
	missed = file_has(DELIVERIES, "deadline_miss", "kind thread", "comm gone", NULL) ||
		 file_has(DELIVERIES, "deadline_miss", "kind timer", NULL);
	ok(!missed && w->end == ISOLATOR_END_NONE, "neither is missed");
	if (missed)
		show_deliveries();
	shared->over = true;
	waitpid(pid, NULL, 0);
	worker_end(w);
	ok(module_unload("lab_waits"), "the module goes");
	return done_testing();
}
