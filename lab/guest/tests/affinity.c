// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: affinity
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: the task's affinity is refused to change; a cpuset that takes the CPU ends isolation
 */
#include "../test.h"

#define TOP	"/sys/fs/cgroup/"
#define GROUP	TOP "lab-affinity/"

static struct shared {
	_Atomic int error;
	_Atomic unsigned int end;
	_Atomic bool started;
} *shared;

/* Pinned by its cpuset alone. */
static void confined(void)
{
	struct iso iso = { .fd = -1 };
	cpu_set_t all;
	char text[16];

	memset(&all, 0xff, sizeof(all));
	snprintf(text, sizeof(text), "%d", getpid());
	shared->error = sched_setaffinity(0, sizeof(all), &all) ? -errno :
			put_file(GROUP "cgroup.procs", text) ?: iso_start(&iso, 0, 0);
	shared->started = true;
	while (!shared->error && !shared->end)
		shared->end = iso.page->end;
	for (;;)
		pause();
}

static void gets_more(void)
{
	cpu_set_t set;
	pid_t pid;

	shared = shared_memory(sizeof(*shared));
	if (put_file(GROUP "cpuset.cpus", "1"))
		bail_out("no cpuset");
	pid = fork();
	if (!pid)
		confined();
	until(shared->started);
	ok(!shared->error, "one that its cpuset pins is isolated: %s", strerror(-shared->error));
	ok(!put_file(GROUP "cpuset.cpus", "0-1"), "the cpuset gets another CPU");
	comes(shared->end, 3000);
	ok(shared->end == ISOLATOR_END_AFFINITY, "that ends it: %u", shared->end);
	ok(!sched_getaffinity(pid, sizeof(set), &set) && CPU_COUNT(&set) == 2,
	   "and it may run on both");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	struct worker *w = worker_new(1);
	char text[16];
	cpu_set_t set;

	iso_require(2);
	w->tick_ms = 10;
	need_worker(worker_process(w));
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	ok(sched_setaffinity(w->tid, sizeof(set), &set) && errno == EBUSY,
	   "sched_setaffinity to CPU 0: %s", strerror(errno));
	CPU_SET(1, &set);
	ok(sched_setaffinity(w->tid, sizeof(set), &set) && errno == EBUSY,
	   "sched_setaffinity to CPUs 0 and 1: %s", strerror(errno));
	ok(!sched_getaffinity(w->tid, sizeof(set), &set) && CPU_COUNT(&set) == 1 &&
	   CPU_ISSET(1, &set), "it is still pinned to CPU 1");
	worker_tells(w);
	ok(w->end == ISOLATOR_END_NONE, "and still isolated");

	if (put_file(TOP "cgroup.subtree_control", "+cpuset") ||
	    (mkdir(GROUP, 0755) && errno != EEXIST) ||
	    put_file(GROUP "cpuset.cpus", "0-1")) {
		ok(false, "cgroup v2 with cpusets, which the rest wants");
		worker_end(w);
		return done_testing();
	}
	snprintf(text, sizeof(text), "%d", w->tid);
	ok(!put_file(GROUP "cgroup.procs", text) && !put_file(GROUP "cpuset.cpus", "1"),
	   "moved into a cpuset, which then loses the other CPU");
	worker_tells(w);
	ok(w->end == ISOLATOR_END_NONE, "it is still isolated, as it is pinned itself");
	w->tick_ms = 0;
	worker_tells(w);
	ok(!put_file(GROUP "cpuset.cpus", "0"), "the cpuset loses its CPU");
	ok(worker_runs_on(w), "the task runs on");
	worker_tells(w);
	ok(w->end == ISOLATOR_END_AFFINITY, "its page says affinity: %u", w->end);
	ok(!sched_getaffinity(w->tid, sizeof(set), &set) && CPU_ISSET(0, &set) &&
	   !CPU_ISSET(1, &set), "and it is on CPU 0");
	worker_end(w);
	gets_more();
	ok(!rmdir(GROUP), "the group can be removed");
	return done_testing();
}
