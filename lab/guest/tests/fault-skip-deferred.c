// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-skip-deferred
 * cpus: 2
 * kernel: isolator-faults
 * arch: x86_64
 * timeout: 60
 * alone: yes
 * about: planted fault: the deferred work at kernel entry is skipped
 * dmesg: WARNING: .* __isolator_user_exit\+|Call Trace:
 */
#include "fault.h"

/*
 * Kernel text changes while the task is in user mode; at its next entry the
 * kernel checks, before the first code that can be patched, that it has done it.
 */
static bool check(void)
{
	struct worker *w = worker_new(1);
	int log = kernel_log();
	uint64_t deferred;

	w->deadline_ns = 60 * SEC;
	need_worker(worker_thread(w));
	deferred = w->iso.page->deferred;
	put_file("/proc/sys/kernel/sched_schedstats", "1");
	put_file("/proc/sys/kernel/sched_schedstats", "0");
	deferred = w->iso.page->deferred - deferred;
	diag("%lu deferred", deferred);
	worker_tick(w, 1000);
	worker_end(w);
	return !kernel_warned(log) && deferred > 0;
}

int main(void)
{
	iso_require(2);
	return with_fault("skip_deferred", check);
}
