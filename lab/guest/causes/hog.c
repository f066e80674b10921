// SPDX-License-Identifier: GPL-2.0-or-later
/* A thread of the highest real-time priority takes the measured CPU. */
#include "cause.h"

enum { HIGHEST = 99 };

struct hog {
	const struct aim *aim;
	long size;
	struct truth *truth;
	int error;
};

static void *body(void *arg)
{
	struct hog *hog = arg;
	struct timespec used;
	int cpu;

	hog->error = set_fifo(HIGHEST);
	if (!hog->error)
		hog->error = pin(0, hog->aim->cpu);
	if (hog->error)
		return NULL;
	hog->truth->from_ns = now_ns();
	spin_until(hog->truth->from_ns + (uint64_t)hog->size * 1000000);
	cpu = sched_getcpu();
	hog->truth->to_ns = now_ns();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	hog->truth->happened = cpu == hog->aim->cpu;
	snprintf(hog->truth->evidence, sizeof(hog->truth->evidence),
		 "\"cpu\":%d,\"ran_ns\":%lld", cpu,
		 (long long)used.tv_sec * 1000000000 + used.tv_nsec);
	return NULL;
}

static int prepare(const struct aim *aim, long size)
{
	return 0;
}

static int inject(const struct aim *aim, long size, struct truth *truth)
{
	struct hog hog = { .aim = aim, .size = size, .truth = truth };
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, &hog))
		return -EAGAIN;
	pthread_join(thread, NULL);
	return hog.error;
}

static void restore(const struct aim *aim)
{
}

CAUSE(hog, "hog", "ms", prepare, inject, restore);
