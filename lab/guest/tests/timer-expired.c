// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: timer-expired
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 60
 * icount: yes
 * about: a system call meets a pinned timer that has expired, and takes no longer for it
 */
#include <linux/perf_event.h>
#include "fault.h"

enum { CALLS = 20000 };

/* A counter of the task's own with a timer on its CPU, which expires once a millisecond. */
static int sampling(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = MS,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/*
 * A short call is over before the event of a timer that expired ahead of it can come: with a device
 * that needs a millisecond each is, as it is with a real one's microsecond.
 */
int main(void)
{
	uint64_t longest = 0, began;
	long long before;
	struct iso iso;
	int fd;

	iso_require(2);
	if (iso_pin(1) || mlockall(MCL_CURRENT))
		bail_out("CPU 1");
	fd = sampling();
	if (fd < 0)
		bail_out("a counter of its own");
	if (iso_start(&iso, 10 * SEC, SEC))
		bail_out("no isolation");
	need_faults();
	ok(!put_file(FAULT, "far_event"), "events come late");
	before = interrupts_all(1);
	for (int i = 0; i < CALLS; i++) {
		began = now_ns();
		syscall(SYS_getppid);
		if (now_ns() - began > longest)
			longest = now_ns() - began;
	}
	diag("the longest of %d calls: %lu us", CALLS, longest / 1000);
	ok(longest < 3 * MS, "none waits for the watch: %lu us", longest / 1000);
	ok(interrupts_all(1) > before + 10, "timers expired meanwhile: %lld",
	   interrupts_all(1) - before);
	put_file(FAULT, "none");
	ok(!iso_stop(&iso), "it is isolated to the end");
	iso_close(&iso);
	return done_testing();
}
