// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: core-sched
 * cpus: 4
 * smt: 2
 * kernel: isolator
 * timeout: 60
 * about: tasks of two cookies never run on the siblings of a core at once, one of them isolated
 * dmesg: NOHZ tick-stop error: local softirq work is pending
 *
 * On PREEMPT_RT softirqs are a thread's: it may not run either where its CPU is kept idle.
 */
#include <sys/prctl.h>
#include "../test.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE		62
#define PR_SCHED_CORE_CREATE	1
#endif

#define SIBLINGS "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list"

/*
 * How long the sibling runs at a time, how much of it the interrupt may take to arrive
 * on a busy host, and how many rounds of the worker's loop that leaves.
 */
enum { BURSTS = 20, TRIES = 100, BURST_MS = 60, ARRIVES_MS = 20, ROUNDS = 10 };

struct seen {
	_Atomic int error;
	_Atomic uint64_t bursts;
	_Atomic uint64_t beside;	/* bursts in which the isolated task ran, too */
};

/* How often something else has taken the CPU of the calling thread. */
static long preempted(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* On the sibling, with a cookie of its own and before the worker in priority. */
static void stranger(struct worker *w, struct seen *seen)
{
	const struct sched_param param = { .sched_priority = 90 };

	if (iso_pin(2) || sched_setscheduler(0, SCHED_FIFO, &param) ||
	    prctl(PR_SCHED_CORE, PR_SCHED_CORE_CREATE, 0, 0, 0)) {
		seen->error = errno;
		return;
	}
	for (int i = 0; i < TRIES && seen->bursts < BURSTS; i++) {
		uint64_t rounds;
		long before;

		sleep_ms(BURST_MS);	/* sleep: nobody is there for so long */
		spin_ms(ARRIVES_MS);
		before = preempted();
		rounds = w->rounds;
		spin_ms(BURST_MS);
		rounds = w->rounds - rounds;
		/* Beside a thread of the kernel's that came in between it may run. */
		if (preempted() != before)
			continue;
		seen->beside += rounds > ROUNDS;
		seen->bursts++;
	}
}

int main(void)
{
	struct worker *w = worker_new(3);
	struct seen *seen = shared_memory(sizeof(*seen));
	pid_t pid;

	iso_require(4);
	if (!file_has(SIBLINGS, "2-3", NULL))
		bail_out("CPUs 2 and 3 are no siblings");
	w->deadline_ns = 60 * SEC;
	w->spin_ns = SEC;
	need_worker(worker_process(w));
	pid = fork();
	if (!pid) {
		stranger(w, seen);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	if (seen->error == EINVAL)
		bail_out("no core scheduling in this kernel");
	ok(!seen->error, "a task with a cookie on the sibling: %s", strerror(seen->error));
	ok(!seen->beside && seen->bursts == BURSTS, "beside it the isolated task ran in %lu of %lu",
	   (uint64_t)seen->beside, (uint64_t)seen->bursts);
	ok(file_has("/proc/isolator/deliveries", "cpu 3 immediate", "__isolator_core_resched",
		    NULL),
	   "each interruption for it is an immediate delivery that is named");
	ok(worker_runs_on(w), "the isolated task goes on");
	ok(!w->missed && w->end == ISOLATOR_END_NONE, "isolated, %lu deadline misses",
	   (uint64_t)w->missed);
	worker_end(w);
	return done_testing();
}
