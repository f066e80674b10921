/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rounds of the cheapest system call on CPU 1 in windows of the observer, which counts what
 * synchronises text.  CPU 1 tracks user mode in all of them, isolated or not.  A thread of the
 * kernel's that runs within a window adds to it: of each kind there are several.
 */
#ifndef LAB_ENTRY_SYNC_H
#define LAB_ENTRY_SYNC_H

#include "../machine.h"
#include "../marker.h"
#include "fault.h"

MARK_WINDOW_TABLE();

enum { CALLS = 1000, FIRST_CALLS = 50, WINDOWS = 3 };

static inline void system_calls(unsigned int first)
{
	unsigned int window;
	int i;

	for (window = first; window < first + WINDOWS; window++) {
		/* The first returns look around: what the start or the fault left is done then. */
		for (i = 0; i < FIRST_CALLS; i++)
			enter_kernel();
		mark_window_begin(window);
		for (i = 0; i < CALLS; i++)
			enter_kernel();
		mark_window_end(window);
	}
}

/* Windows 1 to 3 without isolation, 4 to 6 with it, 7 to 9 with @fault, if there is one. */
static inline int compare(const char *fault)
{
	struct sched_param fifo = { .sched_priority = 1 };
	struct iso iso = { .fd = -1 };

	iso_require(2);
	if (fault)
		need_faults();
	if (!file_has("/sys/devices/system/cpu/nohz_full", "1", NULL))
		bail_out("CPU 1 is no nohz_full one");
	put_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	if (iso_pin(1) || sched_setscheduler(0, SCHED_FIFO, &fifo) || mlockall(MCL_CURRENT))
		bail_out("a FIFO task on CPU 1");
	mark_target();
	mark_probe();
	enter_kernel();
	system_calls(1);
	if (!ok(!iso_start(&iso, 60 * SEC, SEC), "CPU 1 is isolated"))
		return done_testing();
	system_calls(1 + WINDOWS);
	if (fault) {
		ok(!put_file(FAULT, fault), "%s is planted", fault);
		system_calls(1 + 2 * WINDOWS);
		ok(!put_file(FAULT, "none"), "the fault is taken away");
	}
	mark_probe();
	enter_kernel();
	ok(!iso_stop(&iso), "it is isolated to the end");
	iso_close(&iso);
	return done_testing();
}

#endif
