/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The other side of spin.h: starts the spinner, and looks at its CPU from outside. */
#ifndef WATCHER_H
#define WATCHER_H

#include "prove/spin.h"

struct watch {
	struct spin *spin;	/* shared; watch_free() ends it */
	double seconds;		/* in user mode */
	bool early;		/* a signal ended the window before its time */
	bool begun;		/* there was a window */
};

struct watch_order {
	int cpu;
	bool isolate;
	bool progress;		/* shown on stderr, a terminal */
	uint64_t window_ns, threshold_ns;
	bool strict;		/* gaps decide in a virtual machine too */
	const char *directory;	/* the files of /proc/isolator */
	const struct instrument_type *const *instruments;
};

/*
 * Runs the spinner to its end.  0, or -1, said why; nothing runs any more, and all
 * that was set went with the spinner, but for this process's own affinity, which
 * leaves the CPU out from here on.
 */
int watch_run(const struct watch_order *order, struct watch *watch);

void watch_free(struct watch *watch);

#endif
