// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: hotplug-spare
 * cpus: 4
 * kernel: isolator
 * timeout: 90
 * about: a CPU that goes offline is not chosen to keep the time, though it would be the better one
 * append: isolcpus=1 nohz_full=2
 */
#include "../test.h"

#define CPU3 "/sys/devices/system/cpu/cpu3/online"

/*
 * The hot-plug chooses a timekeeper, and so does the end of the isolation.  Only if the end is
 * second does a wrong choice last: three of ten times on a kernel that made it.
 */
enum { TRIES = 6 };

static int goes_offline(void)
{
	struct worker *goes = worker_new(3);
	int error;

	goes->tick_ms = 10;
	need_worker(worker_process(goes));
	/*
	 * Its isolation ends before it goes.  It spins on at a real-time priority, so that for a
	 * moment its hot-plug thread does not run: it is active, and free.
	 */
	goes->tick_ms = 0;
	worker_tells(goes);
	error = put_file(CPU3, "0");
	if (!error && put_file(CPU3, "1"))
		bail_out("CPU 3 does not come back");
	worker_end(goes);
	return error;
}

int main(void)
{
	struct worker *stays = worker_new(0);
	int error = 0, i;

	iso_require(4);
	put_file("/proc/isolator/cpus", "0,3");
	if (!file_has("/sys/devices/system/cpu/isolated", "1", NULL) ||
	    !file_has("/sys/devices/system/cpu/nohz_full", "2", NULL))
		bail_out("isolcpus=1 nohz_full=2 did not take");
	/* What restores a CPU does not wait behind its task. */
	if (iso_pin(2) || put_file("/sys/devices/virtual/workqueue/cpumask", "6"))
		bail_out("affinity");
	/* CPU 1 keeps the time while both are isolated: it is kept free, and there is no other. */
	stays->tick_ms = 10;
	need_worker(worker_process(stays));
	for (i = 0; i < TRIES && !error; i++)
		error = goes_offline();
	ok(!error, "of two isolated CPUs one goes offline, %d times: %d", i, error);
	worker_tells(stays);
	ok(stays->end == ISOLATOR_END_NONE, "the other is still isolated: %u", stays->end);
	worker_end(stays);
	return done_testing();
}
