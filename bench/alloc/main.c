// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What isolator_alloc() and isolator_free() cost, and at worst, beside malloc().
 * The two take turns, round by round, so that what disturbs the machine disturbs
 * both.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <isolator.h>

#include "../bench.h"
#include "patterns.h"
#include "statistics/rank.h"

#define POOL_BYTES	(128ULL << 20)
#define ROUNDS_MAX	1001
#define ALLOCATORS	2

static const size_t sizes[] = { 16, 64, 256, 1024, 4096, 16384, 65536, 0 };

struct options {
	int cpu;
	unsigned int rounds;
	size_t operations;
	const char *json;
	bool tuned;
};

/* What one allocator showed with one pattern and size. */
struct figures {
	/* An allocation and a free, without the timing of each, by round. */
	double pair_ns[ROUNDS_MAX];
	double worst_alloc_ns[ROUNDS_MAX];
	double worst_free_ns[ROUNDS_MAX];
	struct samples samples;
	size_t sample_count;
	long faults;
};

static double ns_per_tick;

static void *pool_alloc(size_t bytes)
{
	return isolator_alloc(bytes);
}

static void pool_free(void *block)
{
	if (isolator_free(block) < 0)
		abort();
}

static void *libc_alloc(size_t bytes)
{
	return malloc(bytes);
}

static void libc_free(void *block)
{
	free(block);
}

static struct allocator allocators[ALLOCATORS] = {
	{ "isolator", pool_alloc, pool_free },
	{ "malloc", libc_alloc, libc_free },
};

static void usage(FILE *to)
{
	fprintf(to, "usage: bench-alloc [--cpu N] [--rounds N] [--operations N] [--tuned] [--json FILE]\n"
		"\n"
		"What isolator_alloc() and isolator_free() cost beside malloc() and free().\n"
		"\n"
		"  --cpu N          the CPU to run on; default: the last one allowed\n"
		"  --rounds N       rounds of each allocator, in turn; default 15\n"
		"  --operations N   allocations in a round; default 20000\n"
		"  --tuned          malloc without trimming and without mmap\n"
		"  --json FILE      write the figures to FILE, - for standard output\n"
		"  --help           this text\n"
		"\n"
		"patterns:\n");
	for (size_t i = 0; i < pattern_count; i++)
		fprintf(to, "  %-16s %s\n", patterns[i].name, patterns[i].help);
	fprintf(to, "\nexamples:\n"
		"  bench-alloc --json out/alloc.json\n"
		"  bench-alloc --cpu 3 --rounds 31 --tuned\n");
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "operations", required_argument, NULL, 'o' },
		{ "tuned", no_argument, NULL, 't' },
		{ "json", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .cpu = -1, .rounds = 15, .operations = 20000 };
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'c':
			options.cpu = (int)bench_number("cpu", optarg, 0, CPU_SETSIZE - 1);
			break;
		case 'r':
			options.rounds = (unsigned int)bench_number("rounds", optarg, 1, ROUNDS_MAX);
			break;
		case 'o':
			options.operations = bench_number("operations", optarg, 1000, 1000000);
			break;
		case 't':
			options.tuned = true;
			break;
		case 'j':
			options.json = optarg;
			break;
		default:
			bench_end(usage, option == 'h');
		}
	}
	if (optind < argc)
		bench_end(usage, false);
	return options;
}

/* Pinned, with a pool of that CPU. */
static void set_up(struct options *options, struct isolator_pool **pool)
{
	struct isolator_pool_options wanted = ISOLATOR_POOL_OPTIONS_INIT;
	cpu_set_t allowed, one;
	int error;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; options->cpu < 0 && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(CPU_SETSIZE - 1 - cpu, &allowed))
			options->cpu = CPU_SETSIZE - 1 - cpu;
	CPU_ZERO(&one);
	CPU_SET(options->cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0) {
		fprintf(stderr, "bench-alloc: cannot run on CPU %d: %s\n", options->cpu,
			strerror(errno));
		exit(1);
	}
	wanted.bytes = POOL_BYTES;
	error = isolator_pool_create(&wanted, pool);
	if (error == -EPERM || error == -EAGAIN) {
		/* Told in the JSON; malloc()'s memory is not locked either. */
		wanted.flags = ISOLATOR_POOL_NO_MLOCK;
		error = isolator_pool_create(&wanted, pool);
	}
	if (error >= 0)
		error = isolator_pool_use(*pool);
	if (error < 0) {
		fprintf(stderr, "bench-alloc: %s\n", isolator_strerror(error));
		exit(1);
	}
}

static void calibrate(void)
{
	uint64_t begin_ns = bench_now_ns(), begin = ticks();

	while (bench_now_ns() - begin_ns < 100000000)
		;
	ns_per_tick = (double)(bench_now_ns() - begin_ns) / (double)(ticks() - begin);
}

static int compare_samples(const void *a, const void *b)
{
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	return (first > second) - (first < second);
}

/* What reading the counter twice costs: each sample has it in it. */
static double timer_ns(void)
{
	static uint32_t samples[10001];
	size_t count = sizeof(samples) / sizeof(samples[0]);

	for (size_t i = 0; i < count; i++) {
		uint64_t begin = ticks();

		samples[i] = (uint32_t)(ticks() - begin);
	}
	qsort(samples, count, sizeof(samples[0]), compare_samples);
	return samples[count / 2] * ns_per_tick;
}

static uint32_t longest(const uint32_t *samples, size_t count)
{
	uint32_t max = 0;

	for (size_t i = 0; i < count; i++)
		max = samples[i] > max ? samples[i] : max;
	return max;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/* One round: the loop as a whole, then with each call timed. */
static void run_round(const struct options *options, const struct pattern *pattern,
		      size_t bytes, const struct allocator *allocator,
		      struct figures *figures, unsigned int round)
{
	struct samples samples = {
		figures->samples.alloc + figures->sample_count,
		figures->samples.free + figures->sample_count,
	};
	long faults_before = faults();
	uint64_t begin = ticks();
	int failed = pattern->run(allocator, bytes, options->operations, NULL);

	figures->pair_ns[round] = (double)(ticks() - begin) * ns_per_tick /
				  (double)options->operations;
	failed |= pattern->run(allocator, bytes, options->operations, &samples);
	if (failed) {
		fprintf(stderr, "bench-alloc: %s has no block of %zu bytes left\n",
			allocator->name, bytes);
		exit(1);
	}
	figures->faults += faults() - faults_before;
	figures->worst_alloc_ns[round] = longest(samples.alloc, options->operations) * ns_per_tick;
	figures->worst_free_ns[round] = longest(samples.free, options->operations) * ns_per_tick;
	figures->sample_count += options->operations;
}

/* Of sorted samples, by rank. */
static double percentile(const uint32_t *samples, size_t count, uint32_t above)
{
	return samples[rank_from_least(count, above) - 1] * ns_per_tick;
}

static void json_calls(FILE *json, const char *call, uint32_t *samples, size_t count,
		       double *worst, unsigned int rounds)
{
	qsort(samples, count, sizeof(samples[0]), compare_samples);
	fprintf(json, ", \"%s\": {\"p50_ns\": %.1f, \"p99_ns\": %.1f, \"p9999_ns\": %.1f, "
		"\"worst_of_round_median_ns\": %.1f, \"worst_ns\": %.1f}", call,
		percentile(samples, count, PERCENTILE_WHOLE / 2),
		percentile(samples, count, PERCENTILE_WHOLE / 100),
		percentile(samples, count, PERCENTILE_WHOLE / 10000), bench_median(worst, rounds),
		percentile(samples, count, 0));
}

static void tell(FILE *json, FILE *text, const struct options *options,
		 const struct pattern *pattern, size_t bytes, const struct allocator *allocator,
		 struct figures *figures, bool first)
{
	unsigned int rounds = options->rounds;
	double middle = bench_median(figures->pair_ns, rounds);
	double worst_alloc = bench_median(figures->worst_alloc_ns, rounds);
	double worst_free = bench_median(figures->worst_free_ns, rounds);

	if (json) {
		fprintf(json, "%s\n    {\"pattern\": \"%s\", \"bytes\": %zu, \"allocator\": \"%s\", "
			"\"pair_ns\": {\"median\": %.2f, \"min\": %.2f, \"max\": %.2f}",
			first ? "" : ",", pattern->name, bytes, allocator->name, middle,
			figures->pair_ns[0], figures->pair_ns[rounds - 1]);
		json_calls(json, "alloc", figures->samples.alloc, figures->sample_count,
			   figures->worst_alloc_ns, rounds);
		json_calls(json, "free", figures->samples.free, figures->sample_count,
			   figures->worst_free_ns, rounds);
		fprintf(json, ", \"page_faults\": %ld}", figures->faults);
	}
	if (text)
		fprintf(text, "%-8s %6zu %-12s %9.1f %9.1f %9.1f %12.0f %12.0f %8ld\n",
			pattern->name, bytes, allocator->name, middle, figures->pair_ns[0],
			figures->pair_ns[rounds - 1], worst_alloc, worst_free, figures->faults);
}

static void run_all(const struct options *options, FILE *json, FILE *text)
{
	static struct figures figures[ALLOCATORS];
	size_t samples = options->rounds * options->operations;
	bool first = true;

	for (int which = 0; which < ALLOCATORS; which++) {
		figures[which].samples.alloc = calloc(samples, sizeof(uint32_t));
		figures[which].samples.free = calloc(samples, sizeof(uint32_t));
		if (!figures[which].samples.alloc || !figures[which].samples.free) {
			fprintf(stderr, "bench-alloc: no memory for %zu samples\n", samples);
			exit(1);
		}
		/* There before the rounds, so that no fault is counted as the allocator's. */
		memset(figures[which].samples.alloc, 1, samples * sizeof(uint32_t));
		memset(figures[which].samples.free, 1, samples * sizeof(uint32_t));
	}
	for (size_t pattern = 0; pattern < pattern_count; pattern++)
		for (size_t size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++) {
			for (int which = 0; which < ALLOCATORS; which++) {
				figures[which].sample_count = 0;
				/* What the program itself touches first is no figure. */
				run_round(options, &patterns[pattern], sizes[size],
					  &allocators[which], &figures[which], 0);
				figures[which].sample_count = 0;
				figures[which].faults = 0;
			}
			for (unsigned int round = 0; round < options->rounds; round++)
				for (int turn = 0; turn < ALLOCATORS; turn++) {
					/* Who is first changes too. */
					int which = (turn + (int)round) % ALLOCATORS;

					run_round(options, &patterns[pattern], sizes[size],
						  &allocators[which], &figures[which], round);
				}
			for (int which = 0; which < ALLOCATORS; which++) {
				tell(json, text, options, &patterns[pattern], sizes[size],
				     &allocators[which], &figures[which], first);
				first = false;
			}
		}
	for (int which = 0; which < ALLOCATORS; which++) {
		free(figures[which].samples.alloc);
		free(figures[which].samples.free);
	}
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct isolator_pool_stats stats = ISOLATOR_POOL_STATS_INIT;
	struct isolator_pool *pool;
	FILE *json = NULL, *text = stdout;

	if (options.tuned) {
		/* What a program can ask of malloc() itself. */
		mallopt(M_TRIM_THRESHOLD, INT32_MAX);
		mallopt(M_MMAP_MAX, 0);
		allocators[1].name = "malloc-tuned";
	}
	if (options.json && strcmp(options.json, "-") == 0) {
		json = stdout;
		text = NULL;
	} else if (options.json) {
		json = fopen(options.json, "we");
		if (!json) {
			fprintf(stderr, "bench-alloc: %s: %s\n", options.json, strerror(errno));
			return 1;
		}
	}
	set_up(&options, &pool);
	isolator_pool_stat(pool, &stats);
	calibrate();
	if (text) {
		fprintf(text, "CPU %d, %u rounds of %zu, reading the counter %.1f ns; in ns\n",
			options.cpu, options.rounds, options.operations, timer_ns());
		fprintf(text, "%-8s %6s %-12s %9s %9s %9s %12s %12s %8s\n", "pattern", "bytes",
			"allocator", "pair p50", "min", "max", "worst alloc", "worst free",
			"faults");
	}
	if (json)
		fprintf(json, "{\"schema\": \"isolator.bench.alloc\", \"version\": 1, \"cpu\": %d, "
			"\"rounds\": %u, \"operations\": %zu, \"timer_ns\": %.1f, "
			"\"pool_locked\": %s, \"pool_bytes\": %llu, \"pool_huge_bytes\": %llu, "
			"\"results\": [", options.cpu, options.rounds, options.operations,
			timer_ns(), stats.got & ISOLATOR_POOL_GOT_LOCKED ? "true" : "false",
			(unsigned long long)stats.bytes, (unsigned long long)stats.huge_bytes);
	run_all(&options, json, text);
	if (json)
		fprintf(json, "\n]}\n");
	isolator_pool_destroy(pool);
	if (json && json != stdout && fclose(json) != 0) {
		fprintf(stderr, "bench-alloc: %s: %s\n", options.json, strerror(errno));
		return 1;
	}
	return 0;
}
