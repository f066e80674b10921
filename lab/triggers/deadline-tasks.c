// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: deadline-tasks
 * row: 114
 * class: exclude
 * kind: program
 * cpus: 3
 * notick: no
 * about: tasks of the deadline class, which may run on every CPU, are pushed and pulled about
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "task.h"

enum { TASKS = 4, JOBS = 20 };

static struct shared {
	_Atomic int on_iso, elsewhere;
} *shared;

struct attr {	/* struct sched_attr, which glibc does not have yet */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static long long now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void work(int iso)
{
	struct attr attr = {
		.size = sizeof(attr), .policy = 6 /* SCHED_DEADLINE */,
		.runtime = 3000000, .deadline = 10000000, .period = 10000000,
	};

	if (syscall(SYS_sched_setattr, 0, &attr, 0))
		_exit(errno);
	for (int i = 0; i < JOBS; i++) {
		long long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + 1000000;

		while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
			;
		atomic_fetch_add(sched_getcpu() == iso ? &shared->on_iso :
				 &shared->elsewhere, 1);
		sched_yield();	/* until the next period */
	}
	_exit(0);
}

int main(void)
{
	int iso = env_number("ISO_CPU"), refused = 0, status;
	bool isolated = task_isolated();
	cpu_set_t all;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(shared != MAP_FAILED);
	/* The class takes only tasks that may run on all CPUs. */
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
	while (wait(&status) > 0)
		refused += status != 0;
	answer(!refused && shared->on_iso + shared->elsewhere == TASKS * JOBS &&
	       !(isolated && shared->on_iso), "done",
	       "%d jobs on CPU %d, %d elsewhere, of %d; %d tasks not taken",
	       shared->on_iso, iso, shared->elsewhere, TASKS * JOBS, refused);
}
