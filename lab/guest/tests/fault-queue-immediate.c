// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-queue-immediate
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 60
 * about: planted fault: SIGKILL waits like any other signal
 */
#include "fault.h"

/* SIGKILL ends a task that never ticks, long before its deadline. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	uint64_t start, took;
	int status;

	w->deadline_ns = 8 * SEC;
	w->life_s = 20;		/* the fault lasts no longer */
	need_worker(worker_process(w));
	worker_tells(w);
	start = now_ns();
	kill(w->tid, SIGKILL);
	if (waitpid(w->tid, &status, 0) != w->tid)
		bail_out("waitpid");
	took = now_ns() - start;
	diag("dead after %lu ms", took / MS);
	return WIFSIGNALED(status) && took < 5 * SEC;
}

int main(void)
{
	iso_require(2);
	return with_fault("queue_immediate", check);
}
