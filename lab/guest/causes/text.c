// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Kernel text is patched: a static key is switched, and every CPU is interrupted three times
 * for each batch of its places.  One of few places: what a flip costs grows with them, what it
 * interrupts does not.
 */
#include "cause.h"

#define KEY "/proc/sys/kernel/timer_migration"

static long home = -1;

static int prepare(const struct aim *aim, long size)
{
	home = file_number(KEY);
	return home < 0 ? -1 : 0;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	long before = interrupts("CAL:", aim->cpu), came, state = home, flips = 0;

	truth->from_ns = now_ns();
	for (long i = 0; i < size; i++) {
		int error = file_put(KEY, state ? "0" : "1");

		if (error)
			return error;
		flips += file_number(KEY) == !state;
		state = !state;
	}
	truth->to_ns = now_ns();
	came = interrupts("CAL:", aim->cpu) - before;
	truth->happened = flips == size && came >= size;
	snprintf(truth->evidence, sizeof(truth->evidence),
		 "\"flips\":%ld,\"calls\":%ld", flips, came);
	return 0;
}

static void restore(const struct aim *aim)
{
	if (home >= 0 && file_number(KEY) != home)
		file_put(KEY, home ? "1" : "0");
}

CAUSE(text, "text", "flips", prepare, inject, restore);
