// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What isolator_tick() costs with nothing due, beside the bare load of a word that
 * it is.  A page of the test's fake device serves, so that it runs on any kernel:
 * such a tick does not enter it.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <isolator.h>

#include "../bench.h"
#include "fake.h"

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
			options.rounds = (unsigned int)bench_number("rounds", optarg, 1, ROUNDS_MAX);
			break;
		case 'o':
			options.operations = bench_number("operations", optarg, 1, 1000000000);
			break;
		default:
			bench_end(usage, option == 'h');
		}
	}
	if (optind < argc)
		bench_end(usage, false);
	return options;
}

static double floor_ns(unsigned long operations)
{
	static volatile uint32_t word;
	uint64_t begin = bench_now_ns();

	for (unsigned long i = 0; i < operations; i++)
		if (word)
			abort();
	return (double)(bench_now_ns() - begin) / (double)operations;
}

static double tick_ns(unsigned long operations)
{
	uint64_t begin = bench_now_ns();

	for (unsigned long i = 0; i < operations; i++)
		if (isolator_tick(ISOLATOR_TICK_ALL))
			abort();
	return (double)(bench_now_ns() - begin) / (double)operations;
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
	       bench_median(floor_one, options.rounds), bench_median(floor_two, options.rounds),
	       bench_median(ticks, options.rounds));
	return 0;
}
