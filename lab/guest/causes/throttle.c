// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Throttling: the group of the measured program may run only a part of each period, until
 * it has stood still for half of @size.  Where its CPU has no tick, nothing looks at what it
 * used for up to a second; so a thread that visits the CPU has the scheduler look.
 */
#include "cause.h"

/* The group that the lab's job starts the program in. */
#define GROUP "/sys/fs/cgroup/measured"
enum { RUNS_MS = 10, APART_NS = 5000000, PATIENCE_NS = 1000000000 };

struct counts {
	long times, us;
};

static struct counts throttled(void)
{
	struct counts found = { -1, -1 };
	FILE *f = fopen(GROUP "/cpu.stat", "re");
	char key[64];
	long value;

	while (f && fscanf(f, "%63s %ld", key, &value) == 2) {
		if (!strcmp(key, "nr_throttled"))
			found.times = value;
		else if (!strcmp(key, "throttled_usec"))
			found.us = value;
	}
	if (f)
		fclose(f);
	return found;
}

static void *visit(void *arg)
{
	const struct aim *aim = arg;

	set_fifo(1);
	pin(0, aim->cpu);
	return NULL;
}

/* What the measured thread used until now is accounted for. */
static int account(const struct aim *aim)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, visit, (void *)aim))
		return -EAGAIN;
	pthread_join(thread, NULL);
	return 0;
}

static int prepare(const struct aim *aim, long size)
{
	return throttled().times < 0 ? -ENOENT : 0;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	struct counts before = throttled(), after = before;
	char text[64];
	int error, end;

	snprintf(text, sizeof(text), "%d %ld", RUNS_MS * 1000, (RUNS_MS + size) * 1000);
	error = account(aim);
	truth->from_ns = now_ns();
	if (!error)
		error = file_put(GROUP "/cpu.max", text);
	/* It is counted when it is over; the first time may be cut short, by a new period. */
	while (!error && after.us - before.us < size * 1000 / 2 &&
	       now_ns() < truth->from_ns + PATIENCE_NS) {
		sleep_until(now_ns() + APART_NS);
		error = account(aim);
		after = throttled();
	}
	end = file_put(GROUP "/cpu.max", "max");
	truth->to_ns = now_ns();
	after = throttled();
	truth->happened = after.us - before.us >= size * 1000 / 2;
	snprintf(truth->evidence, sizeof(truth->evidence), "\"times\":%ld,\"throttled_us\":%ld",
		 after.times - before.times, after.us - before.us);
	return error ? error : end;
}

static void restore(const struct aim *aim)
{
	file_put(GROUP "/cpu.max", "max");
	/* Else the tick would go on that a limit wants. */
	account(aim);
}

CAUSE(throttle, "throttle", "ms", prepare, inject, restore);
