// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-queue-excluded
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 90
 * about: planted fault: what means nothing to user mode is queued instead of left out
 */
#include "fault.h"

#define INSTANCE	"/sys/kernel/tracing/instances/lab-excluded"

/*
 * Taking a tracer away waits until every CPU has left what the tracer patched: the
 * task, in user mode and never ticking, has.
 */
static bool check(void)
{
	struct worker *w = worker_new(1);
	uint64_t excluded, start, took;
	bool clean;

	if (mkdir(INSTANCE, 0700) ||
	    put_file(INSTANCE "/set_ftrace_filter", "do_sys_openat2") ||
	    put_file(INSTANCE "/current_tracer", "function"))
		bail_out("no function tracer");
	w->deadline_ns = 3 * SEC;
	need_worker(worker_thread(w));
	worker_tells(w);
	excluded = w->iso.page->excluded;
	start = now_ns();
	put_file(INSTANCE "/current_tracer", "nop");
	took = now_ns() - start;
	excluded = w->iso.page->excluded - excluded;
	clean = !w->iso.page->missed;
	diag("%lu ms, %lu excluded, %s deadline miss", took / MS, excluded, clean ? "no" : "a");
	worker_end(w);
	rmdir(INSTANCE);
	return excluded > 0 && clean;
}

int main(void)
{
	iso_require(2);
	return with_fault("queue_excluded", check);
}
