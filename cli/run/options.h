/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of isolator run that isolator attach has, too. */
#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include "run/run.h"

/* What holds without any option. */
#define RUN_INIT { \
	.root = "/", \
	.latency = -1, \
	.device = -1, \
	.wish.yield_ns = 50000, \
}

/* Entries of a table (options.h) for the variable @run. */
#define RUN_OPTION_PRIORITY(run) \
	{ "priority", 0, OPTION_NUMBER, "N", "priority of fifo and rr, 1 to 99 (default 50)", \
	  .to.number = &(run).priority, .min = 1 }

/* Five of them; @whom is a string: whom the kernel leaves alone. */
#define RUN_OPTIONS_ISOLATION(run, whom) \
	{ "deadline", 0, OPTION_TIME, "TIME|never", "work still pending after this time interrupts the " whom " (a deadline miss; default 1s)", \
	  .to.ns = &(run).wish.deadline_ns, .unit = "ms" }, \
	{ "spin", 0, OPTION_TIME, "TIME", "the same for work that another CPU waits for in a loop (default 100ms, or the deadline if that is shorter)", \
	  .to.ns = &(run).wish.spin_ns, .unit = "ms", .rare = true }, \
	{ "yield", 0, OPTION_TIME, "TIME", "a system call or fault may yield the CPU to tasks that wait for it, for this long (default 50us)", \
	  .to.ns = &(run).wish.yield_ns, .unit = "us", .rare = true }, \
	{ "batch", 0, OPTION_TIME, "TIME", "if the " whom " makes no system calls: interrupt it once in this time when work is pending, and do all of it (default: never)", \
	  .to.ns = &(run).wish.batch_ns, .unit = "ms", .rare = true }, \
	{ "quarantine", 0, OPTION_FLAG, NULL, "other threads of the program unmap memory without waiting for the " whom ": it is freed later", \
	  .to.flag = &(run).wish.quarantine, .rare = true }

/*
 * Does the priority that was given fit the policy, which is a @real_time one or not?  Fills
 * in the default.  0; -1, said why not.
 */
int run_options_priority(struct run *run, bool real_time);

#endif
