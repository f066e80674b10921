// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator measure: how late, how often interrupted, and is that within limits? */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/live.h"
#include "base/term.h"
#include "base/text.h"
#include "base/wait.h"
#include "machine/affinity.h"
#include "machine/online.h"
#include "measure/measure.h"
#include "measure/openmetrics.h"
#include "measure/phases.h"
#include "measure/picture.h"
#include "options/command.h"

#define DEFAULT_NS UINT64_C(5000000000)
#define DEFAULT_PRIORITY 90
#define PRIORITY_MAX 99
#define WORST 256
#define WORST_MAX 65536		/* of 3 KB each */

static struct measure_options options = {
	.method = MEASURE_UNSAID,
	.policy = MEASURE_UNSAID,
	.priority = MEASURE_UNSAID,
	.phase = MEASURE_UNSAID,
	.seed = MEASURE_UNSAID,
	.late = MEASURE_UNSAID,
	.digits = HIST_DIGITS_MIN,
	.dma_ns = UINT64_MAX,
	.root = "/",
};

/* Bits of the table's kinds, in the order of measures. */
enum { LATENCY = 1 << 0, NOISE = 1 << 1, HARDWARE = 1 << 2, RTC = 1 << 3 };

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "measure on these CPUs (default: latency on all that this shell may use, the other kinds on the last of them)",
	  .to.cpus = &options.cpus },
	{ "time", 't', OPTION_TIME, "TIME", "measure for this time (default 5s), or until Ctrl-C",
	  .to.ns = &options.time_ns, .unit = "s" },
	{ "count", 'n', OPTION_NUMBER, "N", "end after N triggers on each CPU, or after -t",
	  .to.number = &options.samples, .min = 1, .kinds = LATENCY | NOISE | RTC },
	{ "method", 0, OPTION_WORD, "nanosleep|timerfd|timerlat", "wait by this (default nanosleep) or the kernel's tracer",
	  .to.number = &options.method, .kinds = LATENCY },
	{ "method", 0, OPTION_WORD, "spin|osnoise", "look by a loop (default) or the kernel's tracer",
	  .to.number = &options.method, .kinds = NOISE },
	{ "policy", 0, OPTION_WORD, POLICY_WORDS, "scheduling policy of the measuring threads; if given, no other is used (default: other for noise, else fifo if allowed)",
	  .to.number = &options.policy, .rare = true, .kinds = LATENCY | NOISE | RTC },
	{ "priority", 0, OPTION_NUMBER, "N", "priority of fifo and rr, 1 to 99 (default 90); if given, no other is used",
	  .to.number = &options.priority, .min = 1, .rare = true, .kinds = LATENCY | NOISE | RTC },
	{ "period", 0, OPTION_TIME, "TIME", "mean time between triggers (default 200us; timerlat 1ms)",
	  .to.ns = &options.period_ns, .unit = "us", .kinds = LATENCY },
	{ "period", 0, OPTION_TIME, "TIME", "time between two windows (default 1s)",
	  .to.ns = &options.period_ns, .unit = "us", .kinds = HARDWARE },
	{ "period", 0, OPTION_TIME, "TIME", "time between two interrupts (default near 1ms)",
	  .to.ns = &options.period_ns, .unit = "us", .kinds = RTC },
	{ "width", 0, OPTION_TIME, "TIME", "length of each window (default: half the period)",
	  .to.ns = &options.width_ns, .unit = "us", .kinds = HARDWARE },
	{ "threshold", 0, OPTION_TIME, "TIME", "count a longer time between two looks as a gap (default: 8 times the shortest, at least 100ns; 1us with osnoise)",
	  .to.ns = &options.gap_ns, .unit = "us", .kinds = NOISE },
	{ "threshold", 0, OPTION_TIME, "TIME", "count a longer time between two looks as a gap (default 10us)",
	  .to.ns = &options.gap_ns, .unit = "us", .kinds = HARDWARE },
	{ "of", 0, OPTION_NUMBER, "PID", "with osnoise: measure what interrupts whatever runs on the CPUs, instead of a loop; threads of this process are not noise",
	  .to.number = &options.of, .min = 1, .rare = true, .kinds = NOISE },
	{ "phase", 0, OPTION_WORD, "random|fixed", "random: triggers meet every phase of the tick; fixed: one period after another (default random)",
	  .to.number = &options.phase, .rare = true, .kinds = LATENCY },
	{ "seed", 0, OPTION_NUMBER, "N", "seed of the random phase, to repeat the same triggers",
	  .to.number = &options.seed, .rare = true, .kinds = LATENCY },
	{ "late", 0, OPTION_WORD, "measured|missing", "measure triggers that come due before an earlier one is served, or count them as missing (default measured)",
	  .to.number = &options.late, .rare = true, .kinds = LATENCY },
	{ "limit", 0, OPTION_TEXTS, "WHAT=TIME", "exit 2 above such a limit: max=50us, p99.9=20us, ...",
	  .to.texts = &options.limits },
	{ "soft-limit", 0, OPTION_TEXTS, "WHAT=TIME", "the same, reported only; the exit status does not change",
	  .to.texts = &options.soft_limits, .rare = true },
	{ "why", 0, OPTION_TIME, "TIME", "find the cause of each value above this in a kernel trace",
	  .to.ns = &options.why_ns, .unit = "us", .kinds = LATENCY | NOISE | RTC },
	{ "worst", 0, OPTION_NUMBER, "N", "with --why: keep the N worst values with their causes (default 256); all are counted and ranked",
	  .to.number = &options.worst, .min = 1, .rare = true, .kinds = LATENCY | NOISE | RTC },
	{ "with", 0, OPTION_FILE, "LOAD", "measure twice: quiet, then with this load (isolator interfere --list), to which limits apply",
	  .to.text = &options.with },
	{ "with-cpus", 0, OPTION_CPUS, "CPUS", "run the load of --with on these CPUs (default: all that this shell may use)",
	  .to.cpus = &options.with_cpus, .rare = true },
	{ "dma-latency", 0, OPTION_TIME, "TIME", "meanwhile, use no idle state that takes longer to leave",
	  .to.ns = &options.dma_ns, .unit = "us", .zero = true },
	{ "digits", 0, OPTION_NUMBER, "N", "significant digits of the histogram, 2 to 5 (default 2: buckets of at most 0.8 %)",
	  .to.number = &options.digits, .min = HIST_DIGITS_MIN, .rare = true },
	{ "output", 'o', OPTION_OUTPUT, "FILE", "write JSON to a new FILE; - is standard output",
	  .to.text = &options.output },
	{ "openmetrics", 0, OPTION_OUTPUT, "FILE", "write the result as OpenMetrics, for Prometheus, to FILE, which may exist; - is standard output",
	  .to.text = &options.openmetrics, .rare = true },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.measure, version 1)",
	  .to.flag = &options.json },
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &options.root },
	{ "fed", 0, OPTION_FILE, "FILE", NULL, .to.text = &options.fed },
	{ 0 },
};

static const struct measure *const measures[] = {
	&latency_measure, &noise_measure, &hardware_measure, &rtc_measure,
};

static const struct command_kind kinds[] = {
	{
		.name = "latency",
		.summary = "how late a thread wakes up that waits for a time",
		.about = "Runs a thread on each CPU that waits for a time, again and again, and measures how late it runs.",
		.examples = (const char *const []){
			"isolator measure latency", "measure all CPUs for 5 seconds, also without root",
			"sudo isolator measure latency -c 3 -t 60s --limit max=50us --limit p99.9=20us",
			"exit 2 if CPU 3 is later than that",
			"sudo isolator measure latency -c 3 --dma-latency 0", "use no deep idle states",
			"isolator measure latency -t 24h -o night.json",
			"keep a record, even if it is killed",
			NULL,
		},
	},
	{
		.name = "noise",
		.summary = "what takes a CPU from a thread that never waits",
		.about = "Runs a thread on a CPU that only looks at the clock, and reports the gaps in which something else had the CPU, and which share of each second was lost.",
		.examples = (const char *const []){
			"isolator measure noise -c 3 -t 60s --limit max=10us", "exit 2 after a gap over 10 us on CPU 3",
			"sudo isolator measure noise -c 3 --why 50us", "find the causes of gaps over 50 us",
			NULL,
		},
	},
	{
		.name = "hardware",
		.summary = "what takes a CPU from the kernel itself",
		.about = "Looks at the clock with interrupts off, where only firmware, a hypervisor or an NMI can take time. The kernel's tracer hwlat does this.",
		.examples = (const char *const []){
			"sudo isolator measure hardware -c 3 -t 60s", "look on CPU 3 for a minute",
			NULL,
		},
	},
	{
		.name = "rtc",
		.summary = "how late a thread reads the real-time clock's interrupts",
		.about = "Reads the periodic interrupts of the real-time clock, and measures how late each is read.",
		.examples = (const char *const []){
			"sudo isolator measure rtc -c 3", "measure on CPU 3 for 5 seconds",
			NULL,
		},
	},
	{ 0 },
};

/* On standard output. */
static bool openmetrics_printed;

/* What the picture needs beside the result. */
static const struct measure *measure;

static void draw(FILE *out, const void *result)
{
	picture_draw(out, &(struct picture){ result, measure->what, term_colours(stdout), phases_text });
}

static void show(const struct result *result)
{
	live_show(draw, result);
}

static int last_of(const struct cpulist *cpus)
{
	int cpu = -1, last = -1;

	while ((cpu = cpulist_next(cpus, cpu)) >= 0)
		last = cpu;
	return last;
}

/* Those that were asked for, or what the measure has by itself; 0, or -1, said why. */
static int choose_cpus(struct cpulist *cpus)
{
	struct cpulist allowed, online;

	if (affinity_read(&allowed))
		return -1;
	*cpus = options.cpus.given ? options.cpus : allowed;
	if (options.cpus.given)
		return online_read("/", &online) || online_check("cpu", cpus, &online) ||
			affinity_check("cpu", cpus) ? -1 : 0;
	if (measure->one) {
		*cpus = (struct cpulist){ .given = true };
		cpulist_add(cpus, last_of(&allowed));
	}
	return 0;
}

static int choose_policy(struct policy *policy, uint64_t period_ns)
{
	*policy = (struct policy){
		.kind = options.policy == MEASURE_UNSAID ? measure->policy :
			(enum policy_kind)options.policy,
		.insisted = options.policy != MEASURE_UNSAID || options.priority != MEASURE_UNSAID,
		.period_ns = period_ns,
	};
	if (policy->kind <= POLICY_RR)
		policy->priority = options.priority == MEASURE_UNSAID ? DEFAULT_PRIORITY :
			options.priority;
	else if (options.priority != MEASURE_UNSAID)
		return error_say("--priority needs fifo or rr; %s has no priority",
				 policy_names[policy->kind]), -1;
	if (policy->priority > PRIORITY_MAX)
		return error_say("--priority: it must be from 1 to %d", PRIORITY_MAX), -1;
	return 0;
}

/* 0, or -1, said why. */
static int make_limits(struct result *result)
{
	for (size_t i = 0; i < options.limits.count; i++)
		if (!limit_parse(options.limits.texts[i], "limit", true,
				 ARRAY_ADD(result->limits, result->nr_limits)))
			return -1;
	for (size_t i = 0; i < options.soft_limits.count; i++)
		if (!limit_parse(options.soft_limits.texts[i], "soft-limit", false,
				 ARRAY_ADD(result->limits, result->nr_limits)))
			return -1;
	return 0;
}

/*
 * A result that is there already may be of a night, and a device would be replaced by a file:
 * neither is written over.  0, or -1, said why.
 */
static int check_file(const char *option, const char *path, bool anew)
{
	if (!path)
		return 0;
	if (file_check_ordinary(option, path))
		return -1;
	if (anew || access(path, F_OK))
		return 0;
	return error_say("%s: %s exists and would be overwritten: name another file, or remove it",
			 option, path), -1;
}

/* What goes to standard output in place of the report is one document: 0, or -1, said why. */
static int choose_stdout(void)
{
	if (options.output && !strcmp(options.output, OPTION_STDIO)) {
		options.output = NULL;
		options.json = true;
	}
	if (options.openmetrics && !strcmp(options.openmetrics, OPTION_STDIO)) {
		options.openmetrics = NULL;
		openmetrics_printed = true;
	}
	if (options.json && openmetrics_printed)
		return error_say("--openmetrics -: JSON goes to standard output already; name a file for one of them"), -1;
	return 0;
}

/* All that can be wrong before anything is set: 0, or -1, said why. */
static int make_order(struct order *order, struct result *result)
{
	*order = (struct order){
		.root = options.root,
		.duration_ns = options.time_ns || options.samples ? options.time_ns : DEFAULT_NS,
		.samples = options.samples,
		.digits = options.digits,
		.dma_us = options.dma_ns == UINT64_MAX ? -1 : (int64_t)(options.dma_ns / 1000),
		.threshold_ns = options.why_ns ? options.why_ns : UINT64_MAX,
	};
	if (choose_stdout())
		return -1;
	order->output = options.output;
	order->show = !options.json && !openmetrics_printed && isatty(STDOUT_FILENO) ? show : NULL;
	if (check_file("--output", options.output, false) ||
	    check_file("--openmetrics", options.openmetrics, true))
		return -1;
	if (options.digits > HIST_DIGITS_MAX)
		return error_say("--digits: it must be from %d to %d", HIST_DIGITS_MIN, HIST_DIGITS_MAX), -1;
	if (order->dma_us > INT32_MAX)
		return error_say("--dma-latency: at most %d us is possible", INT32_MAX), -1;
	if (choose_cpus(&order->cpus) || measure->prepare(&options, order, result) ||
	    choose_policy(&order->policy, order->period_ns))
		return -1;
	if (options.why_ns && (order->method->beside || options.fed))
		return error_say("--why is not for the kernel's tracers, which name the class of each cause themselves"), -1;
	if (options.worst > WORST_MAX)
		return error_say("--worst: it must be from 1 to %d", WORST_MAX), -1;
	if (options.worst && !options.why_ns)
		return error_say("--worst needs --why"), -1;
	if (options.with_cpus.given && !options.with)
		return error_say("--with-cpus needs --with"), -1;
	if (!options.with_cpus.given && affinity_read(&options.with_cpus))
		return -1;
	return make_limits(result);
}

/* 0, or -1, said why. */
static int save(const char *path, const struct result *result,
		void (*write)(FILE *out, const struct result *result))
{
	int error = path ? result_save(path, result, write) : 0;

	if (error)
		error_say("%s cannot be written: %s", path, strerror(error));
	return error ? -1 : 0;
}

/* In its three forms; the exit code. */
static int report(const struct order *order, struct result *result)
{
	result->running = false;
	result_judge(result);
	if (save(options.output, result, result_json) ||
	    save(options.openmetrics, result, openmetrics_write))
		return EXIT_ERROR;
	/* What was shown live is written over by the whole of it. */
	if (order->show)
		fputs("\033[H\033[J", stdout);
	if (openmetrics_printed)
		openmetrics_write(stdout, result);
	else if (options.json)
		result_json(stdout, result);
	else
		draw(stdout, result);
	return result_exit(result_outcome(result));
}

static int run_order(const struct order *order, struct result *result)
{
	const struct phases phases = {
		.load = options.with, .load_cpus = options.with_cpus, .why_ns = options.why_ns,
		.worst = options.worst ? options.worst : WORST,
	};
	int error = phases_open(&phases, order, result), code = EXIT_ERROR;
	struct sampler sampler;
	bool good = true;

	if (error >= 0) {
		error = sampler_open(&sampler, order, result);
		if (!error)
			error = phases_run(&phases, &sampler, result);
		good = sampler_close(&sampler);
	}
	if (error >= 0)
		code = report(order, result);
	good &= phases_close();
	return good || code ? code : EXIT_ERROR;
}

/* What isolator audit says of the CPUs goes into a result that is kept. */
static int audit_and_run(const struct order *order, struct result *result)
{
	struct capture capture;
	struct audit audit;
	int code;

	if ((!options.json && !options.output) || capture_open(&capture, options.root))
		return run_order(order, result);
	if (!audit_run(&audit, &capture, &order->cpus, NULL)) {
		result->audit = &audit;
		code = run_order(order, result);
		audit_free(&audit);
	} else {
		code = run_order(order, result);
	}
	capture_free(&capture);
	return code;
}

static int run(int argc, char **argv)
{
	struct result result;
	struct order order;
	int code = EXIT_ERROR;

	(void)argc;
	measure = measures[options_kind(&measure_command, argv[0]) - kinds];
	result_init(&result, measure->name, "");
	if (!make_order(&order, &result)) {
		wait_prepare();
		code = audit_and_run(&order, &result);
	}
	if (measure->done)
		measure->done();
	free(result.limits);
	result_free(&result);
	return code;
}

const struct command measure_command = {
	.name = "measure",
	.operands = "latency|noise|hardware|rtc",
	.words = "latency noise hardware rtc",
	.min_operands = 1,
	.max_operands = 1,
	.kinds = kinds,
	.summary = "measure how late a thread is, or what interrupts it",
	.about = "Shows percentiles with the upper bounds that the number of samples allows, a histogram, what its shape means, and what a missing right costs. Each trigger is measured or counted as missing. Each kind has more options: isolator measure latency --help.",
	.options = specs,
	.examples = (const char *const []){
		"isolator measure latency -c 3", "measure CPU 3 for 5 seconds",
		"isolator measure noise --help", "show the options of measure noise",
		NULL,
	},
	.exits = (const char *const []){
		"0", "measured, and all limits hold",
		"1", "an error, which says what to do about it",
		"2", "a limit was exceeded",
		"3", "inconclusive: too few samples for a limit; or invalid: values were lost, or a setting that an option asks for did not hold",
		"77", "skipped: this machine cannot measure it; the message says why",
		NULL,
	},
	.run = run,
};
