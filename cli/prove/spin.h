/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spinner: a process of one thread that stays in user mode on the CPU that
 * isolator prove looks at.  It has memory of its own, so that what the watcher does
 * with its memory cannot reach that CPU; this is what they share.
 */
#ifndef SPIN_H
#define SPIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "prove/instrument.h"
#include "statistics/gaps.h"

/* In this order.  The spinner reaches one, the watcher lets it go on. */
enum spin_step {
	SPIN_NONE,
	SPIN_BEFORE_FROM,	/* its instruments are read; the watcher reads its own */
	SPIN_BEFORE_KICK,	/* in user mode, for the signal that interrupts it */
	SPIN_BEFORE_TO,
	SPIN_WINDOW,		/* in user mode until the watcher ends it */
	SPIN_AFTER_FROM,
	SPIN_AFTER_KICK,
	SPIN_AFTER_TO,
	SPIN_DONE,
};

/* What keeps others off the CPU. */
enum spin_how { SPIN_ISOLATED, SPIN_FIFO, SPIN_NICE, SPIN_ORDINARY };

struct spin {
	/* Said by the watcher. */
	int cpu;
	bool isolate;
	uint64_t window_ns, threshold_ns;
	bool strict;		/* gaps decide in a virtual machine too */
	const char *directory;	/* the files of /proc/isolator, for the watcher */
	pid_t watcher;
	/* Where they are. */
	uint32_t at, go;	/* enum spin_step */
	/* Said by the spinner. */
	enum spin_how how;
	bool locked;		/* its memory */
	char failure[256];	/* why it could not go on; "": it did */
	uint32_t mask, got;	/* what the start achieved */
	uint64_t deadline_ns, bound_ns, yield_ns;
	uint32_t end;		/* enum isolator_end: its isolation ended in the window */
	unsigned int kicks;	/* signals that came when they were to */
	uint64_t ticks;		/* of its own, in the window */
	uint64_t window_cycles;
	struct gaps_scale scale;
	struct gaps gaps, probe;	/* of the window; of the deliberate entries */
	unsigned int nr_instruments;
	struct instrument instruments[INSTRUMENTS_MAX];
};

/* In the child of the watcher; does not return. */
void spin_run(struct spin *spin) __attribute__((noreturn));

#endif
