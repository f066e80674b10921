// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolator: floods of deferred requests, for tests.  Nothing here may grow with
 * how many there have been: the least time of a batch of requests among the first
 * batches is compared with that among the last.
 */
#include <linux/isolator.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/timekeeping.h>

#ifdef CONFIG_X86
#include <asm/text-patching.h>
#else
#include <linux/smp.h>
#define text_poke_sync kick_all_cpus_sync
#endif

#include "internal.h"

#define ISOLATOR_FLOOD_BATCH	1000	/* requests timed together */
#define ISOLATOR_FLOOD_MAX	10000000

static DEFINE_MUTEX(isolator_flood_mutex);
static u64 isolator_flood_requests, isolator_flood_first, isolator_flood_last;

/**
 * isolator_flood_write - make so many text synchronisations
 * @text: their number, a multiple of ten batches
 *
 * Returns 0, -EINTR, -EINVAL or -ERANGE.  Context: process, may sleep.
 */
int isolator_flood_write(char *text)
{
	u64 first = U64_MAX, last = U64_MAX, requests;
	unsigned long batch, batches, i;
	int ret;

	ret = kstrtou64(text, 0, &requests);
	if (ret)
		return ret;
	if (!requests || requests > ISOLATOR_FLOOD_MAX ||
	    requests % (10 * ISOLATOR_FLOOD_BATCH))
		return -ERANGE;
	ret = mutex_lock_interruptible(&isolator_flood_mutex);
	if (ret)
		return ret;
	batches = requests / ISOLATOR_FLOOD_BATCH;
	for (batch = 0; batch < batches; batch++) {
		u64 took = ktime_get_ns();

		for (i = 0; i < ISOLATOR_FLOOD_BATCH; i++)
			text_poke_sync();
		took = ktime_get_ns() - took;
		if (batch < batches / 10)
			first = min(first, took);
		if (batch >= batches - batches / 10)
			last = min(last, took);
		if (signal_pending(current)) {
			ret = -EINTR;
			goto out;
		}
		cond_resched();
	}
	isolator_flood_requests = requests;
	isolator_flood_first = first;
	isolator_flood_last = last;
out:
	mutex_unlock(&isolator_flood_mutex);
	return ret;
}

/** isolator_flood_show - what the last one took; the times are of a batch, in ns */
int isolator_flood_show(struct seq_file *m, void *v)
{
	mutex_lock(&isolator_flood_mutex);
	seq_printf(m, "requests %llu batch %d first_ns %llu last_ns %llu\n",
		   isolator_flood_requests, ISOLATOR_FLOOD_BATCH,
		   isolator_flood_first, isolator_flood_last);
	mutex_unlock(&isolator_flood_mutex);
	return 0;
}
