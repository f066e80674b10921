/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sleeping between samples, until somebody has seen enough. */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* From here on Ctrl-C, SIGTERM and SIGHUP end a wait, not the program. */
void wait_prepare(void);

/* Sleep until @when, CLOCK_MONOTONIC; false: such a signal came. */
bool wait_until(uint64_t when_ns);

enum wait_end {
	WAIT_TIME,	/* it is @when */
	WAIT_INPUT,	/* @file can be read, or is closed on the other side */
	WAIT_SIGNAL,	/* one that has a handler of its own */
	WAIT_OVER,	/* one of those that wait_prepare() is for */
};

/* The same, until there is something to read from @file, or any signal. */
enum wait_end wait_input(int file, uint64_t when_ns);

#define WAIT_SECOND UINT64_C(1000000000)	/* in ns */

/* CLOCK_MONOTONIC */
uint64_t wait_clock_ns(void);

#endif
