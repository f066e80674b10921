// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processor stands still, as it does in an SMI: the observer outside the guest holds the
 * observed virtual CPU on request.  Whether it did only the observer can tell; what it says
 * stands in its own report.
 */
#include "../marker.h"
#include "cause.h"

enum { TENTHS = 10, AFTER_NS = 20000000 };

MARK_PAUSE_TABLE();
extern const char mark_ask_pause_table[];

static int prepare(const struct aim *aim, long size)
{
	return size < 1 || size * TENTHS >= MARK_WINDOWS ? -EINVAL : 0;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	truth->from_ns = now_ns();
	mark_window(mark_ask_pause_table, (unsigned int)(size * TENTHS));
	sleep_until(truth->from_ns + (uint64_t)size * 1000000 + AFTER_NS);
	truth->to_ns = now_ns();
	truth->happened = true;
	snprintf(truth->evidence, sizeof(truth->evidence), "\"asked_ms\":%ld", size);
	return 0;
}

static void restore(const struct aim *aim)
{
}

CAUSE(pause, "pause", "ms", prepare, inject, restore);
