// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: start-amid-move
 * cpus: 3
 * kernel: isolator
 * timeout: 120
 * about: a task that is being moved to another CPU does not isolate the one that it leaves
 */
#include "../test.h"

enum { STARTS = 300 };

static struct shared {
	_Atomic bool ready, over;
	_Atomic uint64_t moves;
} *shared;

/* Moves the task to and fro, between CPUs 1 and 2. */
static pid_t mover(pid_t task)
{
	pid_t pid = fork();

	if (pid < 0)
		bail_out("fork");
	if (pid)
		return pid;
	while (!shared->over) {
		for (int cpu = 1; cpu <= 2; cpu++)
			shared->moves += !iso_pin_task(task, cpu);
		shared->ready = true;
	}
	_exit(0);
}

int main(void)
{
	int begun = 0, moved = 0, elsewhere = 0, lost = 0, other = 0;
	pid_t pid;

	iso_require(3);
	shared = shared_memory(sizeof(*shared));
	pid = mover(getpid());
	until(shared->ready);
	for (int i = 0; i < STARTS; i++) {
		struct iso iso = { .fd = -1 };
		int error = iso_start(&iso, SEC, 100 * MS);

		begun += !error;
		moved += error == -ENOTUNIQ;
		other += error && error != -ENOTUNIQ;
		if (!error) {
			elsewhere += sched_getcpu() != iso.start.cpu;
			lost += iso_stop(&iso) != 0;
		}
		iso_close(&iso);
	}
	shared->over = true;
	waitpid(pid, NULL, 0);
	diag("of %d starts %d began, %d found the task moved, after %lu moves", STARTS, begun,
	     moved, (unsigned long)shared->moves);
	ok(begun && !other, "each start begins, or says that the task was moved: %d did not",
	   other);
	ok(!elsewhere, "who is isolated is on the CPU: %d times not", elsewhere);
	ok(!lost, "and can stop: %d times not", lost);
	ok(file_has("/proc/isolator/status", "isolated \n", NULL), "nothing is left isolated");
	return done_testing();
}
