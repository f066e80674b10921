// SPDX-License-Identifier: GPL-2.0-or-later
/* What isolator measure makes of its series: percentiles, bounds, limits, outcome. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "check.h"
#include "sampling/asked.h"
#include "sampling/limit.h"
#include "sampling/result.h"
#include "series_test.h"
#include "statistics/percentile.h"
#include "statistics/timebase.h"

static const char *vectors_path;

/* The figures of the literature: 59 for p95, 3.0e6 for p99.9999. */
static void bounds(void)
{
	static const struct {
		uint64_t count;
		uint32_t above;
		int64_t spare;
	} table[] = {
		/* By sums of binomial probabilities, in another program. */
		{ 4, 500000, -1 }, { 5, 500000, 0 }, { 100, 500000, 41 },
		{ 58, 50000, -1 }, { 59, 50000, 0 }, { 92, 50000, 0 }, { 93, 50000, 1 },
		{ 1000, 10000, 4 }, { 1000000, 1000, 947 },
		{ 2995730, 1, -1 }, { 2995731, 1, 0 }, { 4743866, 1, 1 },
		/* By a normal distribution, which it is for so many. */
		{ 1000000000, 500000, 499973992 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		int64_t spare = percentile_spare(table[i].count, table[i].above);

		if (spare != table[i].spare)
			printf("# %" PRIu64 " %" PRIu32 ": %" PRId64 "\n", table[i].count,
			       table[i].above, spare);
		CHECK(spare == table[i].spare);
	}
	CHECK(percentile_needs(1) == 2995731 && percentile_needs(1000) == 2995 &&
	      percentile_needs(50000) == 59);
}

/* In 95 % of all runs, or more, the bound is above what it bounds. */
static void coverage(void)
{
	enum { RUNS = 2000, COUNT = 400 };
	static const uint32_t above[] = { 500000, 100000, 10000 };
	unsigned int covered[ARRAY_SIZE(above)] = { 0 };
	struct series *series = room(series_size(3));

	for (int run = 0; run < RUNS; run++) {
		series_init(series, "latency", 0, 3);
		series_start(series, 0);
		/* Uniform below 10^6: the percentiles are known. */
		for (int i = 0; i < COUNT; i++)
			record(series, (uint64_t)random() % 1000000);
		for (size_t i = 0; i < ARRAY_SIZE(above); i++) {
			struct percentile found = percentile_find(series, above[i]);

			CHECK(found.known && found.bounded && found.value_ns <= found.upper_ns);
			covered[i] += found.upper_ns >= 1000000 - above[i];
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(above); i++) {
		printf("# p%g: %u of %d\n", 100 - above[i] / 1e4, covered[i], RUNS);
		/* Three sigmas below 95 %; a bound that is always above says nothing. */
		CHECK(covered[i] > 0.935 * RUNS);
	}
	CHECK(covered[0] < 0.99 * RUNS);
	free(series);
}

static void found_percentiles(void)
{
	struct series *series = new_series(DIGITS);
	struct percentile found = percentile_find(series, 1000);

	CHECK(!found.known && !found.bounded && found.needs == 2995);
	for (uint64_t i = 1; i <= 10000; i++)
		record(series, i * 1000);
	found = percentile_find(series, 500000);
	/* Nearest rank, to a bucket. */
	CHECK(found.known && found.value_ns >= 5000000 && found.value_ns <= 5000000 * 1.0079);
	/* Of the largest values: exact. */
	found = percentile_find(series, 1000);
	CHECK(found.value_ns == 9990000 && found.bounded && found.upper_ns >= 9990000);
	CHECK(!percentile_find(series, 10).known && percentile_find(series, 100).known);
	/* What is missing may have been anything. */
	series_due(series, series->triggers + 99);
	series_miss(series, 100);
	CHECK(!percentile_find(series, 1000).known && !percentile_find(series, 1000).bounded);
	CHECK(percentile_find(series, 500000).known);
	free(series);
}

/* The last one that is missing is missing; the next is the largest that came. */
static void missing_to_the_last(void)
{
	struct series *series = new_series(DIGITS);
	struct percentile found;

	for (uint64_t i = 1; i <= 990; i++)
		record(series, i * 1000);
	series_due(series, series->triggers + 9);
	series_miss(series, 10);
	found = percentile_find(series, 9000);
	CHECK(!found.known && !found.value_ns);
	found = percentile_find(series, 10000);
	CHECK(found.known && found.value_ns == 990000);
	free(series);
}

/* report/tests/test_report_percentile.py reads the same file. */
static void ranks_as_in_python(void)
{
	FILE *vectors = fopen(vectors_path, "r");
	char line[200], name[PERCENTILE_TEXT];
	uint64_t count, rank;
	int lines = 0, lies_above;
	uint32_t above;

	CHECK(vectors);
	while (vectors && fgets(line, sizeof(line), vectors)) {
		if (*line == '#')
			continue;
		CHECK(sscanf(line, "%" SCNu64 " %15s %" SCNu64 " %d", &count, name, &rank,
			     &lies_above) == 4);
		CHECK(percentile_parse(name, &above));
		if (rank_from_least(count, above) != rank)
			printf("# %s", line);
		CHECK(rank_from_least(count, above) == rank);
		CHECK((count * above >= PERCENTILE_WHOLE) == lies_above);
		lines++;
	}
	CHECK(lines > 10);
	if (vectors)
		fclose(vectors);
	CHECK(!rank_from_least(0, 1000));
	CHECK(rank_from_least(7, 0) == 7 && rank_from_least(7, PERCENTILE_WHOLE) == 1);
}

static void names(void)
{
	static const struct {
		const char *text;
		uint32_t above;		/* 0: no percentile */
	} table[] = {
		{ "50", 500000 }, { "99.9", 1000 }, { "99.9999", 1 }, { "0.0001", 999999 },
		{ "99.", 10000 }, { "100", 0 }, { "0", 0 }, { "99.99999", 0 }, { "", 0 },
		{ ".5", 0 }, { "-1", 0 }, { "9 9", 0 }, { "99.9.9", 0 }, { "999999999999", 0 },
		{ "1e1", 0 },
	};
	char text[PERCENTILE_TEXT];

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		uint32_t above = 0;

		if (percentile_parse(table[i].text, &above) != !!table[i].above ||
		    above != table[i].above)
			printf("# \"%s\": %" PRIu32 "\n", table[i].text, above);
		CHECK(above == table[i].above);
	}
	CHECK_TEXT(percentile_text(text, 1), "99.9999");
	CHECK_TEXT(percentile_text(text, 500000), "50");
	CHECK_TEXT(percentile_text(text, 1000), "99.9");
}

static void limits(void)
{
	struct series *series = new_series(DIGITS);
	struct limit most, share;

	CHECK(limit_parse("max=50us", "limit", true, &most) && most.limit_ns == 50000);
	CHECK(limit_parse("p99.90=20", "limit", true, &share) && share.limit_ns == 20000);
	CHECK_TEXT(share.name, "p99.9");
	CHECK(!limit_parse("p99.9", "limit", true, &share) &&
	      !limit_parse("p=1us", "limit", true, &share) &&
	      !limit_parse("min=1us", "limit", true, &share) &&
	      !limit_parse("p99.9=-1us", "limit", true, &share));
	limit_parse("p99.9=20us", "limit", true, &share);
	limit_judge(&most, &series, 1);
	CHECK(most.result == LIMIT_UNKNOWN && !most.known);
	/* Below, but too few for a bound. */
	for (int i = 0; i < 2994; i++)
		record(series, 19000);
	limit_judge(&most, &series, 1);
	limit_judge(&share, &series, 1);
	CHECK(most.result == LIMIT_KEPT && most.value_ns == 19000);
	CHECK(share.result == LIMIT_UNKNOWN && share.needs == 2995);
	record(series, 19000);
	limit_judge(&share, &series, 1);
	CHECK(share.result == LIMIT_KEPT);
	/* The bound is above, the value is not. */
	record(series, 50000);
	limit_judge(&most, &series, 1);
	limit_judge(&share, &series, 1);
	CHECK(most.result == LIMIT_KEPT && share.result == LIMIT_UNKNOWN && share.value_ns == 19000);
	for (int i = 0; i < 5; i++)
		record(series, 50001);
	limit_judge(&most, &series, 1);
	limit_judge(&share, &series, 1);
	CHECK(most.result == LIMIT_EXCEEDED && share.result == LIMIT_EXCEEDED);
	free(series);
	series = new_series(DIGITS);
	record(series, 1);
	series_due(series, 1);
	series_miss(series, 1);
	limit_judge(&most, &series, 1);
	CHECK(most.result == LIMIT_UNKNOWN);
	free(series);
}

/* Where only what is above a threshold is counted, nothing is good; elsewhere it is not. */
static void nothing(void)
{
	struct series *series = new_series(DIGITS), *sums = new_series(DIGITS);
	struct series *const both[] = { sums, series };
	struct limit limit;

	CHECK(limit_parse("max=10us", "limit", true, &limit));
	limit_judge(&limit, both + 1, 1);
	CHECK(limit.result == LIMIT_UNKNOWN);
	series->above_ns = 1000;
	limit_judge(&limit, both + 1, 1);
	CHECK(limit.result == LIMIT_KEPT && !limit.known);
	CHECK(limit_parse("p99.9=10us", "limit", true, &limit));
	limit_judge(&limit, both + 1, 1);
	CHECK(limit.result == LIMIT_KEPT);
	/* A finer limit than what was looked for. */
	CHECK(limit_parse("max=500ns", "limit", true, &limit));
	limit_judge(&limit, both + 1, 1);
	CHECK(limit.result == LIMIT_UNKNOWN);
	/* Events that were lost may have been anything. */
	CHECK(limit_parse("max=10us", "limit", true, &limit));
	series->triggers = 5;
	series_miss(series, 5);
	limit_judge(&limit, both + 1, 1);
	CHECK(limit.result == LIMIT_UNKNOWN);
	/* Sums of seconds have no limit. */
	series->triggers = series->missing = 0;
	series_start(sums, 0);
	sums->per_second = true;
	sums->triggers = 1;
	series_record(sums, 0, 900 * MS, 0);
	limit_judge(&limit, both, 2);
	CHECK(limit.result == LIMIT_KEPT && !limit.known);
	free(series);
	free(sums);
}

static void outcomes(void)
{
	struct series *series = new_series(DIGITS);
	struct timebase timebase = { .kind = TIMEBASE_MONOTONIC, .per_ns = 1 };
	struct limit limit;
	struct result result;
	char *words;

	result_init(&result, "latency", "nanosleep");
	CHECK(strlen(result.id) == 32);
	CHECK(result_exit(result_outcome(&result)) == EXIT_INCONCLUSIVE);
	result.running = false;
	result.timebase = &timebase;
	CHECK(result_outcome(&result) == OUTCOME_INCONCLUSIVE);
	result.parts[0] = (struct part){ .series = &series, .count = 1 };
	result.nr_parts = 1;
	record(series, 30000);
	CHECK(result_outcome(&result) == OUTCOME_MEASURED);
	limit_parse("max=50us", "limit", true, &limit);
	result.limits = &limit;
	result.nr_limits = 1;
	result_judge(&result);
	CHECK(result_exit(result_outcome(&result)) == EXIT_PASS);
	record(series, 60000);
	result_judge(&result);
	CHECK(result_exit(result_outcome(&result)) == EXIT_EXCEEDED);
	/* A soft one does not decide. */
	limit.hard = false;
	CHECK(result_outcome(&result) == OUTCOME_MEASURED);
	limit.hard = true;
	/* A setting that was only tried does not, one that was insisted on does. */
	asked_add(&result.settings, "policy", "fifo", "other", false, false, NULL);
	CHECK(result_outcome(&result) == OUTCOME_EXCEEDED);
	asked_add(&result.settings, "dma_latency", "0", NULL, false, true, "no such %s", "file");
	CHECK(result_exit(result_outcome(&result)) == EXIT_INCONCLUSIVE);
	words = result_words(&result);
	CHECK(strstr(words, "dma_latency 0") && strstr(words, "no such file"));
	free(words);
	asked_add(&result.settings, "dma_latency", "0", "0", true, true, NULL);
	CHECK(result.settings.count == 2 && result_outcome(&result) == OUTCOME_EXCEEDED);
	/* A value that was lost, of whatever else was found. */
	series_due(series, series->triggers);
	CHECK(result_outcome(&result) == OUTCOME_INVALID);
	words = result_words(&result);
	CHECK(strstr(words, "3 triggers, but 2 samples, 0 overflow and 0 missing"));
	free(words);
	asked_free(&result.settings);
	free(series);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "bounds by the binomial distribution", bounds },
		{ "a bound covers in 95 of 100 runs", coverage },
		{ "percentiles by rank, and none from too few", found_percentiles },
		{ "percentiles where something is missing", missing_to_the_last },
		{ "ranks are those of the report", ranks_as_in_python },
		{ "names of percentiles", names },
		{ "limits hold, are exceeded, or nothing can be said", limits },
		{ "nothing above a threshold", nothing },
		{ "what a run comes to", outcomes },
	};

	if (argc != 2)
		return 1;
	vectors_path = argv[1];
	srandom(1);
	return check_run(tests, ARRAY_SIZE(tests));
}
