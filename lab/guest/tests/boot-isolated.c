// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: boot-isolated
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * append: isolcpus=1
 * about: what an isolated CPU does not take goes to none that isolcpus= keeps free, if there are others
 */
#include "../test.h"

enum { HOGS = 2, WAKES = 200 };

static int pipes[2];
static _Atomic int wakes, strayed;
static _Atomic bool over;

static void *hog(void *cpu)
{
	iso_pin((int)(intptr_t)cpu);
	while (!over)
		;
	return NULL;
}

/* It was bound to CPU 2, and now it may run anywhere: where it last ran is preferred. */
static void *wanderer(void *unused)
{
	cpu_set_t all;
	char byte;

	(void)unused;
	CPU_ZERO(&all);
	for (size_t i = 0; i < 4; i++)
		CPU_SET(i, &all);
	if (iso_pin(2) || sched_setaffinity(0, sizeof(all), &all))
		bail_out("affinity");
	while (read(pipes[0], &byte, 1) == 1 && !over) {
		strayed += sched_getcpu() == 1;
		wakes++;
	}
	return NULL;
}

static _Atomic int child_has;	/* 0: to be asked; 1: CPU 1 too; 2: not that one */

/* A child of the isolated task's: has it CPU 1, which its parent was not bound to? */
static void forks(struct worker *w)
{
	cpu_set_t set;
	pid_t pid;

	(void)w;
	if (child_has)
		return;
	pid = fork();
	if (!pid)
		_exit(sched_getaffinity(0, sizeof(set), &set) ? 3 : CPU_ISSET(1, &set) ? 1 : 2);
	if (pid > 0) {
		int status = 0;

		waitpid(pid, &status, 0);
		child_has = WIFEXITED(status) ? WEXITSTATUS(status) : 3;
	}
}

int main(void)
{
	struct worker *w = worker_new(2), *others[] = { worker_new(0), worker_new(3) };
	pthread_t hogs[2 * HOGS], thread;
	int i;

	iso_require(4);
	if (!file_has("/sys/devices/system/cpu/isolated", "1", NULL))
		bail_out("isolcpus=1 did not take");
	put_file("/proc/isolator/cpus", "0-3");
	if (pipe(pipes) || iso_pin(0) || pthread_create(&thread, NULL, wanderer, NULL))
		bail_out("no thread");
	w->each = forks;
	w->tick_ms = 10;
	need_worker(worker_thread(w));
	for (i = 0; i < 2 * HOGS; i++) {
		if (pthread_create(&hogs[i], NULL, hog, (void *)(intptr_t)(i % 2 ? 3 : 0)))
			bail_out("no thread");
	}
	for (i = 0; i < WAKES; i++) {
		int before = wakes;

		if (write(pipes[1], "x", 1) != 1)
			bail_out("pipe");
		until(wakes > before);
	}
	ok(!strayed, "of %d wake-ups %d led to the CPU that isolcpus= keeps free", wakes, strayed);
	until(child_has);
	ok(child_has == 2, "nor may a child of the isolated task run there (%d)", child_has);
	over = true;
	for (i = 0; i < 2 * HOGS; i++)
		pthread_join(hogs[i], NULL);
	/* No other CPU is left: it would wait behind its parent. */
	if (iso_pin(1))
		bail_out("affinity");
	for (i = 0; i < 2; i++) {
		others[i]->tick_ms = 10;
		need_worker(worker_thread(others[i]));
	}
	child_has = 0;
	until(child_has);
	ok(child_has == 1, "it may if all others are isolated (%d)", child_has);
	worker_end(others[0]);
	worker_end(others[1]);
	worker_end(w);
	return done_testing();
}
