/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A device that behaves like /dev/isolator, as far as a process can see it, put
 * under the library's table of system calls.
 */
#ifndef FAKE_H
#define FAKE_H

#include "../../src/internal.h"

/* What the library did since fake_reset(), and what shall happen next. */
struct fake {
	/* The kernel's view of the page of the newest isolation; writable. */
	struct isolator_page *page;
	struct isolator_start_args start;
	struct isolator_tick_args tick;
	/* The last request for another task, as it came. */
	struct isolator_task_args task;
	int opens, closes, starts, ticks, stops, maps, unmaps, locks, task_starts, task_stops;
	int open_flags, map_protection, lock_flags;
	char path[64];
	/* Set to an errno: the next call of the kind fails with it. */
	int fail_open, fail_lock, fail_map, fail_start, fail_tick, fail_stop, fail_task_start, fail_task_stop;
	/* Bits that a tick finds and cannot do within its budget. */
	unsigned int cannot_do;
	/* Bits of a start's mask that the kernel cannot provide. */
	unsigned int cannot_mask;
	/* The version that the next page has, 0 for the right one, -1 for version 0. */
	int page_version;
	/* A bit 1 << N: a kernel that does not know the request of number N in this form. */
	unsigned int unknown;
	/* The device of something else: it knows no request. */
	bool foreign;
};

extern struct fake fake;

/* A fresh device that nobody has opened; the calling thread's state is dropped. */
void fake_reset(void);

/* End the isolation from the kernel's side. */
void fake_end(unsigned int why);

/* Something has become due. */
void fake_due(unsigned int bits);

#endif
