// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-no-yield
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 90
 * about: planted fault: the tick does not yield the CPU to its kernel threads
 */
#include "fault.h"

/* Work for a kernel thread of the isolated CPU is done at a tick. */
static bool check(void)
{
	struct worker *w = worker_new(1);
	int status;
	bool back;
	pid_t pid;

	w->tick_ms = 10;
	w->deadline_ns = 5 * SEC;
	need_worker(worker_process(w));
	pid = fork();
	if (!pid)
		_exit(ask_kworker() ? 0 : 1);
	back = comes(waitpid(pid, &status, WNOHANG) == pid, 3000) && !status;
	worker_end(w);		/* with the CPU free again it ends in any case */
	if (!back)
		waitpid(pid, NULL, 0);
	diag("%lu yields, %lu deadline misses", w->yields, w->missed);
	return back && w->yields > 0 && !w->missed;
}

int main(void)
{
	iso_require(2);
	if (!can_ask_kworker())
		bail_out("no tracing, by which to ask for work");
	return with_fault("no_yield", check);
}
