// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-leave-callback
 * cpus: 4
 * kernel: isolator-faults
 * timeout: 90
 * about: planted fault: RCU callbacks of the task stay on its CPU
 */
#include "fault.h"

static _Atomic uint64_t *freed;	/* shared with the worker */

/* Freed inodes leave RCU callbacks behind; then the task stays in user mode. */
static void leave_callbacks(struct worker *w)
{
	if (*freed)
		return;
	for (int i = 0; i < 50; i++) {
		int fd = open("/tmp/lab-callback", O_CREAT | O_RDWR, 0600);

		unlink("/tmp/lab-callback");
		close(fd);
	}
	*freed = 1;
	(void)w;
}

/* All callbacks run although the task never ticks. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	uint64_t start, took;
	bool done;

	*freed = 0;
	w->each = leave_callbacks;
	w->deadline_ns = 60 * SEC;
	w->life_s = 12;		/* the fault lasts no longer */
	w->spin_ns = SEC;
	if (!worker_process(w) || !wait_for(freed, 1, 5000))
		bail_out("no isolated worker");
	worker_tells(w);
	start = now_ns();
	done = ask_rcu_barrier();
	took = now_ns() - start;
	worker_tells(w);
	diag("rcu_barrier() after %lu ms, %lu deadline misses", took / MS, w->missed);
	done = done && took < 8 * SEC && !w->missed;
	worker_end(w);
	return done;
}

int main(void)
{
	iso_require(4);
	freed = shared_memory(4096);
	return with_fault("leave_callback", check);
}
