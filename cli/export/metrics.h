/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel says of isolated CPUs, as metrics. */
#ifndef METRICS_H
#define METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/exposition.h"

struct metrics_wish {
	const char *directory;	/* instead of /proc/isolator; NULL: that one, if there is one */
	const char *root;	/* whose /proc it is, and whose processes (base/root.h) */
	unsigned int top;	/* of senders and of callbacks on each CPU, 0: all */
	bool names;		/* of senders, callbacks and owners, as far as this user sees them */
};

/*
 * 1: the kernel has Isolator, 0: it has none, -1: nobody can tell, said why.  A directory that
 * was asked for is taken to be one of a kernel with Isolator.
 */
int metrics_available(const struct metrics_wish *wish);

/*
 * All of it, as node_exporter reads it, *@text to be freed: 0.  Of a kernel without Isolator it says that.  -1: something
 * cannot be read, said why, and there is no text.
 */
int metrics_text(const struct metrics_wish *wish, char **text, size_t *size);

#endif
