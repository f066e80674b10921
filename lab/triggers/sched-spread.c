// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sched-spread
 * row: 55, 112
 * class: exclude
 * kind: program
 * notick: no
 * about: many ordinary tasks that may run on every CPU are started and balanced
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include "task.h"

enum { TASKS = 16, SLICES = 8, SLICE_US = 1000 };

static struct shared {
	_Atomic int on_iso, elsewhere;
} *shared;

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static void work(int iso)
{
	for (int i = 0; i < SLICES; i++) {
		long long end = now_us() + SLICE_US;

		while (now_us() < end)
			;
		atomic_fetch_add(sched_getcpu() == iso ? &shared->on_iso :
				 &shared->elsewhere, 1);
		usleep(SLICE_US);
	}
	_exit(0);
}

int main(void)
{
	int iso = env_number("ISO_CPU");
	bool isolated = task_isolated();
	cpu_set_t all;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(shared != MAP_FAILED);
	CPU_ZERO(&all);
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		CPU_SET(cpu, &all);
	need(!sched_setaffinity(0, sizeof(all), &all));
	for (int task = 0; task < TASKS; task++) {
		pid_t child = fork();

		need(child >= 0);
		if (!child)
			work(iso);
	}
	while (wait(NULL) > 0)
		;
	answer(shared->on_iso + shared->elsewhere == TASKS * SLICES &&
	       !(isolated && shared->on_iso), "done",
	       "%d slices on CPU %d, %d elsewhere, of %d", shared->on_iso, iso,
	       shared->elsewhere, TASKS * SLICES);
}
