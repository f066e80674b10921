// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator measure noise: what takes a CPU from a thread that never waits? */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/term.h"
#include "base/text.h"
#include "measure/gap.h"
#include "measure/measure.h"
#include "measure/osnoise.h"

#define US UINT64_C(1000)

static struct gap_options gap;
static struct tracer_options osnoise;

/* 0, or -1, said why: all other threads would wait for these. */
static int check_policy(const struct measure_options *options, const struct cpulist *cpus)
{
	long left = sysconf(_SC_NPROCESSORS_ONLN);

	if (options->policy == POLICY_DEADLINE)
		return error_say("--policy deadline stops a thread that spins when its time is used up: use fifo, rr or other"), -1;
	gap.rests = options->policy == POLICY_FIFO || options->policy == POLICY_RR;
	if (gap.rests && left <= (long)cpulist_count(cpus))
		return error_say("--policy %s: spinning threads would take all CPUs of this machine: leave one out with -c, or use --policy other",
				 policy_names[options->policy]), -1;
	return 0;
}

/* 0, or -1, said why. */
static int check_options(const struct measure_options *options)
{
	if (options->of && options->method == METHOD_SPIN)
		return error_say("--of needs --method osnoise"), -1;
	return 0;
}

/* 0, or -1, said why. */
static int prepare_osnoise(const struct measure_options *options, struct order *order,
			   struct result *result)
{
	const struct tracer_method *method = options->of ? &osnoise_of_method : &osnoise_method;

	if (options->policy != MEASURE_UNSAID || options->priority != MEASURE_UNSAID)
		return error_say("--policy and --priority need --method spin: the kernel's thread measures with osnoise"), -1;
	if (options->gap_ns && (options->of || options->gap_ns < US))
		return error_say(options->of ? "--threshold does not go with --of, which measures no gaps" :
				 "--threshold: the kernel counts whole us here, give at least 1us"), -1;
	osnoise_set(&osnoise, &order->cpus, options->gap_ns ? options->gap_ns : US,
		    (pid_t)options->of);
	order->method = &method->method;
	order->options = &osnoise;
	order->step_ns = OSNOISE_STEP_NS;
	result->method = order->method->name;
	result->threshold_ns = options->of ? UINT64_MAX : osnoise.threshold_ns;
	return 0;
}

static void done(void)
{
	tracer_free(&osnoise);
}

/* One threshold for all threads; what it would be by itself is told too. */
static void choose_threshold(const struct measure_options *options, struct result *result)
{
	char found[TERM_TIME], least[TERM_TIME], asked[TERM_TIME];
	struct timebase timebase;

	timebase_open(&timebase, options->root);
	gap.threshold_ns = gap_calibrate(&timebase);
	term_time(found, gap.threshold_ns);
	term_time(least, timebase.floor_min_ns);
	if (options->gap_ns) {
		bool fine = options->gap_ns < gap.threshold_ns;

		term_time(asked, options->gap_ns);
		gap.threshold_ns = options->gap_ns;
		asked_add(&result->settings, "threshold", asked, asked, true, true,
			  fine ? "finer than the default of %s on this machine: gaps may be the instrument's own" :
			  "the default would be %s", found);
	} else {
		asked_add(&result->settings, "threshold", NULL, found, true, false,
			  "%d times the shortest time between two looks (%s), and at least %d ns",
			  GAP_TIMES, least, (int)GAP_FLOOR_NS);
	}
	result->threshold_ns = gap.threshold_ns;
}

static int prepare(const struct measure_options *options, struct order *order,
		   struct result *result)
{
	char spell[TERM_TIME], rest[TERM_TIME], *text;

	if (check_options(options))
		return -1;
	if (options->of || options->method == METHOD_OSNOISE)
		return prepare_osnoise(options, order, result);
	if (check_policy(options, &order->cpus))
		return -1;
	choose_threshold(options, result);
	if (gap.rests) {
		text = text_format("%s after each %s", term_time(rest, GAP_REST_NS),
				   term_time(spell, GAP_SPELL_NS));
		asked_add(&result->settings, "rest", text, text, true, false,
			  "without it the kernel would stop a thread of this policy, and others of its CPU would starve; what comes in this time is not seen");
		free(text);
	}
	order->method = &gap_method;
	order->options = &gap;
	result->method = order->method->name;
	return 0;
}

const struct measure noise_measure = {
	.name = "noise",
	.what = "gaps of a thread that never waits",
	.one = true,
	.policy = POLICY_OTHER,
	.prepare = prepare,
	.done = done,
};
