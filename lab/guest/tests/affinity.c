// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: affinity
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: the task's affinity is refused to change; a cpuset that takes the CPU ends isolation
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../iso.h"
#include "../tap.h"

#define TOP	"/sys/fs/cgroup/"
#define GROUP	TOP "lab-affinity/"

int main(void)
{
	struct worker *w = worker_new(1);
	char text[16];
	cpu_set_t set;
	uint64_t rounds;

	iso_require(2);
	w->tick_ms = 10;
	if (!worker_process(w)) {
		ok(false, "no isolated worker");
		return done_testing();
	}
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	ok(sched_setaffinity(w->tid, sizeof(set), &set) && errno == EBUSY,
	   "sched_setaffinity to CPU 0: %s", strerror(errno));
	CPU_SET(1, &set);
	ok(sched_setaffinity(w->tid, sizeof(set), &set) && errno == EBUSY,
	   "sched_setaffinity to CPUs 0 and 1: %s", strerror(errno));
	ok(!sched_getaffinity(w->tid, sizeof(set), &set) && CPU_COUNT(&set) == 1 &&
	   CPU_ISSET(1, &set), "it is still pinned to CPU 1");
	sleep_ms(50);
	ok(w->end == ISOLATOR_END_NONE, "and still isolated");

	if (put_file(TOP "cgroup.subtree_control", "+cpuset") ||
	    (mkdir(GROUP, 0755) && errno != EEXIST) ||
	    put_file(GROUP "cpuset.cpus", "0")) {
		ok(false, "cgroup v2 with cpusets, which the rest wants");
		worker_end(w);
		return done_testing();
	}
	snprintf(text, sizeof(text), "%d", w->tid);
	ok(!put_file(GROUP "cgroup.procs", text), "moved into a cpuset without its CPU");
	rounds = w->rounds;
	ok(wait_for(&w->rounds, rounds + 1000, 3000), "the task runs on");
	sleep_ms(50);
	ok(w->end == ISOLATOR_END_AFFINITY, "its page says affinity: %u", w->end);
	ok(!sched_getaffinity(w->tid, sizeof(set), &set) && CPU_ISSET(0, &set) &&
	   !CPU_ISSET(1, &set), "and it is on CPU 0");
	worker_end(w);
	ok(!rmdir(GROUP), "the group can be removed");
	return done_testing();
}
