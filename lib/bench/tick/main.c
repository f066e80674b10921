// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What isolator_tick() costs with nothing due, beside the bare load of a word that
 * it is.  A page of the test's fake device serves, so that it runs on any kernel:
 * such a tick does not enter it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <isolator.h>

#include "../../tests/fake.h"

#define ROUNDS_MAX	1001

struct options {
	unsigned int rounds;
	unsigned long operations;
};

static void usage(FILE *to)
{
	fputs("usage: bench-tick [--rounds N] [--operations N]\n"
	      "\n"
	      "What isolator_tick() costs with nothing due, beside one load (the floor), as JSON:\n"
	      "medians of the rounds in ns, floor against floor for the spread.\n"
	      "\n"
	      "  --rounds N       rounds of each, in turn; default 31\n"
	      "  --operations N   ticks in a round; default 1000000\n"
	      "  --help           this text\n"
	      "\n"
	      "examples:\n"
	      "  bench-tick\n"
	      "  bench-tick --rounds 101\n", to);
}

static unsigned long number(const char *text, unsigned long high, const char *option)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || value < 1 || value > high) {
		fprintf(stderr, "bench-tick: --%s wants a number from 1 to %lu\n", option, high);
		exit(1);
	}
	return value;
}

static struct options parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "rounds", required_argument, NULL, 'r' },
		{ "operations", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct options options = { .rounds = 31, .operations = 1000000 };
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 'r':
			options.rounds = (unsigned int)number(optarg, ROUNDS_MAX, "rounds");
			break;
		case 'o':
			options.operations = number(optarg, 1000000000, "operations");
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			usage(stderr);
			exit(1);
		}
	}
	if (optind < argc) {
		usage(stderr);
		exit(1);
	}
	return options;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double floor_ns(unsigned long operations)
{
	static volatile uint32_t word;
	double begin = now_ns();

	for (unsigned long i = 0; i < operations; i++)
		if (word)
			abort();
	return (now_ns() - begin) / (double)operations;
}

static double tick_ns(unsigned long operations)
{
	double begin = now_ns();

	for (unsigned long i = 0; i < operations; i++)
		if (isolator_tick(ISOLATOR_TICK_ALL))
			abort();
	return (now_ns() - begin) / (double)operations;
}

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

static double median(double *values, unsigned int count)
{
	qsort(values, count, sizeof(values[0]), compare);
	return values[count / 2];
}

int main(int argc, char **argv)
{
	static double floor_one[ROUNDS_MAX], ticks[ROUNDS_MAX], floor_two[ROUNDS_MAX];
	struct options options = parse(argc, argv);
	int error;

	fake_reset();
	error = isolator_start(ISOLATOR_MASK_ALL);
	if (error < 0) {
		fprintf(stderr, "bench-tick: %s\n", isolator_strerror(error));
		return 1;
	}
	for (unsigned int round = 0; round < options.rounds; round++) {
		floor_one[round] = floor_ns(options.operations);
		ticks[round] = tick_ns(options.operations);
		floor_two[round] = floor_ns(options.operations);
	}
	if (fake.ticks) {
		fprintf(stderr, "bench-tick: a tick entered the kernel with nothing due\n");
		return 1;
	}
	printf("{\"schema\": \"isolator.bench.tick\", \"version\": 1, \"rounds\": %u, "
	       "\"operations\": %lu, \"floor_ns_p50\": %.3f, \"floor2_ns_p50\": %.3f, "
	       "\"isolator_ns_p50\": %.3f}\n", options.rounds, options.operations,
	       median(floor_one, options.rounds), median(floor_two, options.rounds),
	       median(ticks, options.rounds));
	return 0;
}
