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
	.wish.lend_ns = 50000, \
}

/* Entries of a table (options.h) for the variable @run. */
#define RUN_OPTION_PRIORITY(run) \
	{ "priority", 0, OPTION_NUMBER, "N", "its priority with fifo and rr, 1 to 99 (default 50)", \
	  { .number = &(run).priority }, 1 }

/* Four of them; @whom is a string: whom the kernel is to leave alone. */
#define RUN_OPTIONS_ISOLATION(run, whom) \
	{ "lend", 0, OPTION_TIME, "US", "a system call or fault of the " whom " may lend the CPU to what waits for it for this long (default 50); a time may have a unit: 50us, 1ms", \
	  { .ns = &(run).wish.lend_ns }, 0 }, \
	{ "beat", 0, OPTION_TIME, "MS", "for a " whom " that makes no system calls: interrupt it once in this time if something is due, as planned, and do it all at once (default: never)", \
	  { .ns = &(run).wish.beat_ns }, 0 }, \
	{ "deadline", 0, OPTION_TIME, "MS|never", "what nobody has ticked for until then interrupts the " whom ": a breach (default 1000)", \
	  { .ns = &(run).wish.deadline_ns }, 0 }, \
	{ "spin", 0, OPTION_TIME, "MS", "the same for what somebody waits for in a loop, and so keeps another CPU busy (default 100, or the deadline if that is shorter)", \
	  { .ns = &(run).wish.spin_ns }, 0 }

/*
 * Does the priority that was given fit the policy, which is a @real_time one or not?  Fills
 * in the default.  0; -1, said why not.
 */
int run_options_priority(struct run *run, bool real_time);

#endif
