// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page faults of the measured thread: the soft-dirty bits of its process are cleared, which
 * write-protects its pages until it writes to each the next time.
 */
#include "cause.h"

enum { APART_NS = 2000000 };

/* Minor faults of the measured thread so far. */
static long faults(const struct aim *aim)
{
	char path[64];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", aim->pid, aim->tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %ld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

static int prepare(const struct aim *aim, long size)
{
	return faults(aim) < 0 ? -1 : 0;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	long before = faults(aim), came;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", aim->pid);
	truth->from_ns = now_ns();
	for (long i = 0; i < size; i++) {
		int error = file_put(path, "4");

		if (error)
			return error;
		sleep_until(now_ns() + APART_NS);
	}
	truth->to_ns = now_ns();
	came = faults(aim) - before;
	truth->happened = came > 0;
	snprintf(truth->evidence, sizeof(truth->evidence), "\"faults\":%ld", came);
	return 0;
}

static void restore(const struct aim *aim)
{
}

CAUSE(fault, "fault", "rounds", prepare, inject, restore);
