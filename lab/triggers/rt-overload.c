// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: rt-overload
 * row: 53
 * class: exclude
 * kind: program
 * cpus: 3
 * notick: no
 * about: more real-time tasks than CPUs are ready to run: they are pushed and pulled about
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include "task.h"

enum { TASKS = 6, BURSTS = 40, BURST_US = 500, REST_US = 200 };

static struct shared {
	_Atomic int bursts[TASKS], on_iso, elsewhere;
} *shared;

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static void work(int task, int iso)
{
	struct sched_param param = { .sched_priority = 2 + task };
	cpu_set_t all;

	CPU_ZERO(&all);
	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
		CPU_SET(cpu, &all);
	if (sched_setaffinity(0, sizeof(all), &all) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		_exit(1);
	for (int i = 0; i < BURSTS; i++) {
		long long end = now_us() + BURST_US;

		while (now_us() < end)
			;
		atomic_fetch_add(sched_getcpu() == iso ? &shared->on_iso :
				 &shared->elsewhere, 1);
		atomic_fetch_add(&shared->bursts[task], 1);
		usleep(REST_US);
	}
	_exit(0);
}

int main(void)
{
	int iso = env_number("ISO_CPU"), whole = 0;
	bool isolated = task_isolated();

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(shared != MAP_FAILED);
	for (int task = 0; task < TASKS; task++) {
		pid_t child = fork();

		need(child >= 0);
		if (!child)
			work(task, iso);
	}
	while (wait(NULL) > 0)
		;
	for (int task = 0; task < TASKS; task++)
		whole += shared->bursts[task] == BURSTS;
	answer(whole == TASKS && !(isolated && shared->on_iso), "done",
	       "%d of %d tasks done; %d bursts on CPU %d, %d elsewhere", whole, TASKS,
	       shared->on_iso, iso, shared->elsewhere);
}
