// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>
#include <time.h>

#include "statistics/series.h"

#define ALIGNED(size) (((size) + 63) & ~(size_t)63)
#define TRIES 200
#define TRY_NAP_NS 20000

size_t series_size(unsigned int digits)
{
	return ALIGNED(sizeof(struct series)) + ALIGNED(hist_size(digits));
}

struct series *series_init(void *memory, const char *name, int cpu, unsigned int digits)
{
	struct series *series = memory;

	memset(series, 0, sizeof(*series));
	series->name = name;
	series->cpu = cpu;
	series->min = UINT64_MAX;
	series->threshold_ns = UINT64_MAX;
	series->hist = hist_init((char *)memory + ALIGNED(sizeof(*series)), digits);
	return series;
}

void series_start(struct series *series, uint64_t began_ns)
{
	timeline_init(&series->timeline, began_ns);
}

/*
 * Not inline, and the last call of series_record(): what takes a call itself, so that
 * one that takes none has no registers to save.
 */
static void __attribute__((noinline)) record_rarely(struct series *series, uint64_t trigger,
						    uint64_t value_ns, uint64_t at_ns)
{
	timeline_add(&series->timeline, at_ns, value_ns);
	worst_add(&series->worst, value_ns, trigger, at_ns);
	if (value_ns > series->threshold_ns && series->ring)
		outlier_put(series->ring, &(struct outlier){ series->cpu, series->tid, trigger,
							   at_ns - value_ns, at_ns, value_ns });
}

void series_record(struct series *series, uint64_t trigger, uint64_t value_ns, uint64_t at_ns)
{
	if (value_ns <= HIST_HIGHEST)
		hist_add(series->hist, value_ns);
	else
		series->overflow++;
	if (value_ns < series->min)
		series->min = value_ns;
	if (value_ns > series->max)
		series->max = value_ns;
	series->sum += value_ns;
	series->sum_high += series->sum < value_ns;
	if (timeline_moves(&series->timeline, at_ns) || worst_enters(&series->worst, value_ns) ||
	    value_ns > series->threshold_ns)
		record_rarely(series, trigger, value_ns, at_ns);
	else
		timeline_count(&series->timeline, value_ns);
}

void series_miss(struct series *series, uint64_t count)
{
	series->missing += count;
}

static bool copy_once(struct series *to, const struct series *from)
{
	uint32_t sequence = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE);
	struct hist *hist = to->hist;

	if (sequence % 2)
		return false;
	memcpy(to, from, sizeof(*to));
	to->hist = hist;
	memcpy(hist->counts, from->hist->counts, hist->length * sizeof(*hist->counts));
	/* All of it was read before the number is read again. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&from->sequence, __ATOMIC_RELAXED) == sequence;
}

bool series_copy(struct series *to, const struct series *from)
{
	const struct timespec nap = { 0, TRY_NAP_NS };

	for (int i = 0; i < TRIES; i++) {
		if (copy_once(to, from))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

uint64_t series_samples(const struct series *series)
{
	return hist_total(series->hist);
}

bool series_complete(const struct series *series)
{
	return series_samples(series) + series->overflow + series->missing == series->triggers;
}

bool series_any(const struct series *series)
{
	return series->min <= series->max;
}

double series_mean(const struct series *series)
{
	double sum = (double)series->sum_high * 0x1p64 + (double)series->sum;

	return sum / (double)(series_samples(series) + series->overflow);
}
