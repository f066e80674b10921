// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampling core of isolator measure: what a measuring thread fills. */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "check.h"
#include "sampling/schedule.h"
#include "series_test.h"
#include "statistics/timebase.h"

/* A value that is random over all magnitudes. */
static uint64_t any_value(void)
{
	return (((uint64_t)random() << 31) + (uint64_t)random()) % HIST_HIGHEST >>
		(unsigned int)random() % 37;
}

static void buckets(void)
{
	for (unsigned int digits = HIST_DIGITS_MIN; digits <= HIST_DIGITS_MAX; digits++) {
		struct hist *hist = hist_init(room(hist_size(digits)), digits);
		double most = digits == 2 ? 0.0079 : digits == 3 ? 0.00098 : 0.000062;

		CHECK(hist_low(hist, 0) == 0 && hist_high(hist, 0) == 0);
		/* Without gaps, each value in its own, and none too wide. */
		for (size_t i = 1; i < hist->length; i++) {
			uint64_t low = hist_low(hist, i), high = hist_high(hist, i);

			CHECK(low == hist_high(hist, i - 1) + 1);
			CHECK((double)(high - low) <= most * (double)low);
			if (low <= HIST_HIGHEST)
				CHECK(hist_index(hist, low) == i);
			if (high <= HIST_HIGHEST)
				CHECK(hist_index(hist, high) == i);
		}
		CHECK(hist_index(hist, HIST_HIGHEST) < hist->length);
		hist_add(hist, 0);
		hist_add(hist, 1);
		hist_add(hist, HIST_HIGHEST);
		CHECK(hist_total(hist) == 3 && hist->counts[0] == 1 && hist->counts[1] == 1);
		free(hist);
	}
}

static int larger_first(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a < *b) - (*a > *b);
}

/* The largest are exact, in whatever order they come. */
static void largest(void)
{
	enum { COUNT = 5000 };
	static uint64_t values[COUNT];
	static struct worst worst;

	for (int order = 0; order < 3; order++) {
		worst = (struct worst){ 0 };
		for (uint64_t i = 0; i < COUNT; i++) {
			values[i] = order == 0 ? i : order == 1 ? COUNT - i : any_value();
			worst_add(&worst, values[i], i, 7 * i);
		}
		qsort(values, COUNT, sizeof(*values), larger_first);
		worst_sort(&worst);
		CHECK(worst.count == WORST_ROOM && WORST_ROOM >= 100);
		for (unsigned int i = 0; i < worst.count; i++) {
			CHECK(worst.values[i].value_ns == values[i]);
			CHECK(worst.values[i].at_ns == 7 * worst.values[i].trigger);
		}
	}
}

/* Whatever length: nothing is lost, each maximum is where it was. */
static void intervals(void)
{
	static struct timeline timeline;

	for (uint64_t length = 1; length < 5000000; length *= 7) {
		uint64_t total = 0, from = 123 * MS;

		timeline_init(&timeline, from);
		for (uint64_t i = 0; i < length; i++)
			timeline_add(&timeline, from + i * MS, i);
		CHECK(timeline.interval_ns % TIMELINE_FIRST_NS == 0);
		CHECK(timeline.interval_ns == TIMELINE_FIRST_NS ||
		      2 * (timeline.at + 1) > TIMELINE_ROOM);
		for (unsigned int i = 0; i <= timeline.at; i++) {
			uint64_t last = (i + 1) * timeline.interval_ns / MS - 1;

			CHECK(timeline.maxima[i] == (last < length ? last : length - 1));
			total += timeline.counts[i];
		}
		CHECK(total == length);
	}
	/* A day without a value between two. */
	timeline_init(&timeline, 0);
	timeline_add(&timeline, 0, 5);
	timeline_add(&timeline, 86400000 * MS, 9);
	CHECK(timeline.maxima[0] == 5 && timeline.counts[0] == 1 && timeline.at > 0 &&
	      timeline.maxima[timeline.at] == 9 && timeline.counts[timeline.at] == 1);
}

static void account(void)
{
	struct series *series = new_series(DIGITS);

	CHECK(series_complete(series) && !series_any(series));
	for (int i = 0; i < 100000; i++)
		record(series, any_value());
	record(series, HIST_HIGHEST);
	record(series, HIST_HIGHEST + 1);
	CHECK(series_samples(series) == 100001 && series->overflow == 1);
	CHECK(series->max == HIST_HIGHEST + 1 && series_complete(series));
	series_due(series, series->triggers + 2);
	CHECK(!series_complete(series));
	series_miss(series, 3);
	CHECK(series_complete(series) && series->missing == 3);
	/* A value too many is no better than one that was lost. */
	series_record(series, 0, 1, series->triggers * MS);
	CHECK(!series_complete(series));
	free(series);
}

/* The sum of large values does not wrap. */
static void mean(void)
{
	struct series *series = new_series(DIGITS);

	series->sum = UINT64_MAX - 5;
	record(series, 10);
	CHECK(series->sum == 4 && series->sum_high == 1);
	CHECK(series_mean(series) > 1.8e19);
	free(series);
}

static _Atomic bool copied;	/* at least once */

static void *write_all(void *argument)
{
	struct series *series = argument;
	const struct timespec nap = { 0, 20000 };

	for (int i = 0; i < 3000; i++) {
		for (int k = 0; k < 20; k++)
			record(series, any_value());
		nanosleep(&nap, NULL);	/* sleep: who copies has its turns */
		/* Not to the end before somebody has looked, who may stand still. */
		while (i == 1500 && !copied)
			nanosleep(&nap, NULL);	/* sleep: between two looks */
	}
	return NULL;
}

/* A copy that is taken meanwhile is even too. */
static void copies(void)
{
	struct series *series = new_series(DIGITS), *copy = new_series(DIGITS);
	unsigned int good = 0;
	pthread_t writer;

	pthread_create(&writer, NULL, write_all, series);
	for (uint64_t last = 0; last < 60000; last = copy->triggers) {
		uint64_t counted = 0;

		if (!series_copy(copy, series))
			continue;
		good++;
		copied = true;
		CHECK(series_complete(copy) && copy->triggers >= last);
		for (unsigned int i = 0; i < TIMELINE_ROOM; i++)
			counted += copy->timeline.counts[i];
		CHECK(counted == copy->triggers);
	}
	pthread_join(writer, NULL);
	CHECK(good > 1);
	/* Of one that is being written for ever there is none. */
	series_begin(series);
	CHECK(!series_copy(copy, series));
	free(series);
	free(copy);
}

/* A full ring loses, counts, and does not wait. */
static void ring(void)
{
	static struct outlier_ring outliers;
	struct series *series = new_series(DIGITS);
	struct outlier outlier = { 0 };

	series->threshold_ns = 1000;
	series->ring = &outliers;
	for (uint64_t i = 0; i < OUTLIER_ROOM + 10; i++) {
		record(series, 1000);
		record(series, 1001 + i);
	}
	CHECK(outlier_lost(&outliers) == 10);
	for (uint64_t i = 0; i < OUTLIER_ROOM; i++) {
		CHECK(outlier_take(&outliers, &outlier));
		CHECK(outlier.trigger == 2 * i + 1 && outlier.value_ns == 1001 + i &&
		      outlier.to_ns == outlier.trigger * MS &&
		      outlier.from_ns == outlier.to_ns - outlier.value_ns);
	}
	CHECK(!outlier_take(&outliers, &outlier));
	record(series, 5000);
	CHECK(outlier_take(&outliers, &outlier) && outlier.value_ns == 5000);
	free(series);
}

/* Every phase of a tick is met as often, no trigger comes on the heels of another. */
static void phases(void)
{
	enum { COUNT = 100000, CLASSES = 10 };
	const uint64_t period = MS, from = 5 * MS;
	struct schedule first = schedule_begin(from, period, true, 7), again = first;
	struct schedule other = schedule_begin(from, period, true, 8);
	struct schedule fixed = schedule_begin(from, period, false, 7);
	unsigned int classes[CLASSES] = { 0 }, same = 0;
	uint64_t begun = first.due_ns;

	CHECK(begun >= from && begun < from + period && fixed.due_ns == from);
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t before = first.due_ns;

		CHECK(first.trigger == i);
		classes[before % MS * CLASSES / MS]++;
		same += first.due_ns == other.due_ns;
		schedule_next(&first);
		schedule_next(&again);
		schedule_next(&other);
		schedule_next(&fixed);
		CHECK(first.due_ns - before >= period / 2 &&
		      first.due_ns - before <= period + period / 2);
		CHECK(first.due_ns == again.due_ns && fixed.due_ns == from + (i + 1) * period);
	}
	/* Three sigmas of the mean of evenly distributed ones. */
	CHECK((double)(first.due_ns - begun) / COUNT > 0.997 * MS &&
	      (double)(first.due_ns - begun) / COUNT < 1.003 * MS);
	for (int i = 0; i < CLASSES; i++)
		CHECK(classes[i] > 0.9 * COUNT / CLASSES && classes[i] < 1.1 * COUNT / CLASSES);
	CHECK(same < 10);
}

static void clocks(void)
{
	struct timebase best, plain;
	uint64_t look, from_ns, to_ns;

	timebase_open(&best, "/");
	timebase_open_monotonic(&plain, "it is asked for");
	CHECK_TEXT(plain.note, "it is asked for");
	for (int i = 0; i < 2; i++) {
		const struct timebase *one = i ? &best : &plain;

		CHECK(one->resolution_ns > 0 && one->floor_min_ns <= one->floor_p50_ns &&
		      one->floor_p50_ns <= one->floor_max_ns && one->floor_p50_ns < MS);
		from_ns = wait_clock_ns();
		look = timebase_look(one);
		to_ns = wait_clock_ns();
		if (i && best.kind != TIMEBASE_MONOTONIC) {
			uint64_t at_ns = timebase_at_ns(one, look);

			CHECK(at_ns + 20000 > from_ns && at_ns < to_ns + 20000);
		}
	}
	/* Without a file that says that the kernel trusts it, it is not trusted. */
	timebase_open(&best, "nowhere");
#if defined(__x86_64__)
	CHECK(best.kind == TIMEBASE_MONOTONIC && *best.note);
#endif
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "each value is in one bucket, none wider than its digits allow", buckets },
		{ "the largest values are exact", largest },
		{ "intervals double, and lose nothing", intervals },
		{ "samples, overflow and missing are triggers, or it is said", account },
		{ "the sum does not wrap", mean },
		{ "a copy is whole, or there is none", copies },
		{ "a full ring loses and counts", ring },
		{ "triggers meet every phase, and again by the seed", phases },
		{ "clocks", clocks },
	};

	(void)argc;
	(void)argv;
	srandom(1);
	return check_run(tests, ARRAY_SIZE(tests));
}
