// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Migration: the measured thread is moved to the other CPU, which is busy, and back.
 */
#include "cause.h"

enum { ABOVE = 60 };

/* The CPU that the measured thread was last on, or -1: the 39th word of its stat. */
static int processor(const struct aim *aim)
{
	char path[64];
	int cpu = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", aim->pid, aim->tid);
	f = fopen(path, "re");
	if (f && (fscanf(f, "%*d (%*[^)])") < 0 || fscanf(f, " %*c") < 0))
		goto out;
	/* 4 to 38 stand between. */
	for (int i = 4; f && i < 39; i++)
		if (fscanf(f, "%*s") < 0)
			goto out;
	if (f && fscanf(f, "%d", &cpu) != 1)
		cpu = -1;
out:
	if (f)
		fclose(f);
	return cpu;
}

static int prepare(const struct aim *aim, long size)
{
	return processor(aim) == aim->cpu ? 0 : -1;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	int error, there = -1, back = -1;

	error = set_fifo(ABOVE);
	truth->from_ns = now_ns();
	if (!error)
		error = pin(aim->tid, aim->other);
	if (!error) {
		there = processor(aim);
		spin_until(truth->from_ns + (uint64_t)size * 1000000);
		error = pin(aim->tid, aim->cpu);
	}
	truth->to_ns = now_ns();
	set_fifo(0);
	back = processor(aim);
	truth->happened = there == aim->other && back == aim->cpu;
	snprintf(truth->evidence, sizeof(truth->evidence),
		 "\"was_on\":%d,\"is_on\":%d", there, back);
	return error;
}

/* Wherever it went wrong. */
static void restore(const struct aim *aim)
{
	pin(aim->tid, aim->cpu);
}

CAUSE(migration, "migration", "ms", prepare, inject, restore);
