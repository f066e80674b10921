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
	.dma_us = MEASURE_UNSAID,
	.root = "/",
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "measure on these, such as 1 or 1,3-5 (default: all that this shell may use; of all but latency the last of them)",
	  { .cpus = &options.cpus }, 0 },
	{ "time", 't', OPTION_SECONDS, "SEC", "how long, in seconds (default 5); Ctrl-C ends it early, with the result of what was seen",
	  { .ns = &options.time_ns }, 0 },
	{ "samples", 0, OPTION_NUMBER, "N", "end after N triggers on each CPU, with -t at the latest then",
	  { .number = &options.samples }, 1 },
	{ "method", 0, OPTION_WORD, MEASURE_METHODS, "latency: what a thread waits by, nanosleep, timerfd or the kernel's tracer timerlat (default nanosleep); noise: spin or the kernel's tracer osnoise (default spin)",
	  { .number = &options.method }, 0 },
	{ "policy", 0, OPTION_WORD, POLICY_WORDS, "of the measuring threads; if given no other will do (default fifo, else the best that is allowed; of noise other, of hardware none)",
	  { .number = &options.policy }, 0 },
	{ "priority", 0, OPTION_NUMBER, "N", "of fifo and rr, 1 to 99 (default 90); if given no other will do",
	  { .number = &options.priority }, 1 },
	{ "period", 0, OPTION_TIME, "US", "between triggers, on average, in us or with a unit (default 200us; of timerlat and rtc near 1ms, of hardware 1s)",
	  { .ns = &options.period_ns }, 0 },
	{ "phase", 0, OPTION_WORD, "random|fixed", "random: triggers meet every phase of the tick; fixed: each a period after the one before (default random)",
	  { .number = &options.phase }, 0 },
	{ "seed", 0, OPTION_NUMBER, "N", "of the random phase, to have the same triggers again (default: another one each time)",
	  { .number = &options.seed }, 0 },
	{ "late", 0, OPTION_WORD, "measured|missing", "triggers that come due while an earlier one is waited for: each is measured, late as it is; or they are missing, which is counted (default measured)",
	  { .number = &options.late }, 0 },
	{ "threshold", 0, OPTION_TIME, "NS", "of noise and hardware: two looks at the clock that are further apart are a gap, in ns or with a unit (default: 8 times the least that they are apart, and at least 100ns; of the kernel's tracers 1us, of hardware 10us)",
	  { .ns = &options.gap_ns }, 0 },
	{ "of", 0, OPTION_NUMBER, "PID", "of noise: what interrupts whatever runs on the CPUs, without a loop of its own; threads of this process are no noise (the tracer osnoise)",
	  { .number = &options.of }, 1 },
	{ "width", 0, OPTION_TIME, "US", "of hardware: for how much of each period interrupts are off, in us or with a unit (default: half of it)",
	  { .ns = &options.width_ns }, 0 },
	{ "digits", 0, OPTION_NUMBER, "N", "significant digits of the histogram, 2 to 5 (default 2: buckets of at most 0.8 %)",
	  { .number = &options.digits }, HIST_DIGITS_MIN },
	{ "limit", 0, OPTION_TEXTS, "WHAT=TIME", "exit 2 if max or a percentile is above, such as max=50us or p99.9=20us; may be given several times",
	  { .texts = &options.limits }, 0 },
	{ "soft-limit", 0, OPTION_TEXTS, "WHAT=TIME", "the same, told without deciding the exit status",
	  { .texts = &options.soft_limits }, 0 },
	{ "dma-latency", 0, OPTION_NUMBER, "US", "keep CPUs from idle states that take longer to leave than US microseconds (/dev/cpu_dma_latency), for this run; if that does not hold, exit 3",
	  { .number = &options.dma_us }, 0 },
	{ "with", 0, OPTION_FILE, "LOAD", "measure twice, each for as long: quiet, then with this load (isolator interfere --list); limits are for the second",
	  { .text = &options.with }, 0 },
	{ "with-cpus", 0, OPTION_CPUS, "CPUS", "where the load runs (default: all CPUs that this shell may use)",
	  { .cpus = &options.with_cpus }, 0 },
	{ "why", 0, OPTION_TIME, "US", "look for the cause of each value above this, in us or with a unit, in the kernel's trace (isolator-attribution(7)); it costs the measured CPUs time, which is measured before and after, and told",
	  { .ns = &options.why_ns }, 0 },
	{ "worst", 0, OPTION_NUMBER, "N", "of --why: how many of the worst are kept, each with its causes (default 256); all are counted and ranked",
	  { .number = &options.worst }, 1 },
	{ "output", 0, OPTION_FILE, "FILE", "the result as JSON, a new file, written again each second, whole at any moment",
	  { .text = &options.output }, 0 },
	{ "openmetrics", 0, OPTION_FILE, "FILE", "the result as OpenMetrics text, for Prometheus; in place of that of an earlier run",
	  { .text = &options.openmetrics }, 0 },
	{ "json", 0, OPTION_FLAG, NULL, "one JSON object (schema isolator.measure, version 1)",
	  { .flag = &options.json }, 0 },
	{ "root", 0, OPTION_DIRECTORY, "DIR", NULL, { .text = &options.root }, 0 },
	{ "fed", 0, OPTION_FILE, "FILE", NULL, { .text = &options.fed }, 0 },
	{ 0 },
};

static const struct measure *const measures[] = {
	&latency_measure, &noise_measure, &hardware_measure, &rtc_measure,
};

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
	char *text;
	int error = affinity_get(&allowed);

	if (error)
		return error_say("the CPUs of this process are not known: %s", strerror(error)), -1;
	if (options.cpus.given && (online_read("/", &online) ||
				   online_check("cpu", &options.cpus, &online)))
		return -1;
	*cpus = options.cpus.given ? options.cpus : allowed;
	if (!options.cpus.given && measure->one) {
		*cpus = (struct cpulist){ .given = true };
		cpulist_add(cpus, last_of(&allowed));
	}
	if (cpulist_within(cpus, &allowed))
		return 0;
	text = cpulist_text(&allowed);
	error_say("--cpu: this process may use CPUs %s only: run it without taskset, or in another cpuset (/proc/self/status, Cpus_allowed_list)",
		  text);
	free(text);
	return -1;
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
		return error_say("--priority is for fifo and rr; %s has none",
				 policy_names[policy->kind]), -1;
	if (policy->priority > PRIORITY_MAX)
		return error_say("--priority wants 1 to %d", PRIORITY_MAX), -1;
	return 0;
}

/* 0, or -1, said why. */
static int make_gates(struct result *result)
{
	for (size_t i = 0; i < options.limits.count; i++)
		if (!gate_parse(options.limits.texts[i], "limit", true,
				ARRAY_ADD(result->gates, result->nr_gates)))
			return -1;
	for (size_t i = 0; i < options.soft_limits.count; i++)
		if (!gate_parse(options.soft_limits.texts[i], "soft-limit", false,
				ARRAY_ADD(result->gates, result->nr_gates)))
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
	return error_say("%s: %s is there already, and would be lost: name another file, or remove it",
			 option, path), -1;
}

/* All that can be wrong before anything is set: 0, or -1, said why. */
static int make_order(struct order *order, struct result *result)
{
	*order = (struct order){
		.root = options.root,
		.duration_ns = options.time_ns || options.samples ? options.time_ns : DEFAULT_NS,
		.samples = options.samples,
		.digits = options.digits,
		.dma_us = options.dma_us == MEASURE_UNSAID ? -1 : (int64_t)options.dma_us,
		.threshold_ns = options.why_ns ? options.why_ns : UINT64_MAX,
		.output = options.output,
		.show = !options.json && isatty(STDOUT_FILENO) ? show : NULL,
	};
	if (check_file("--output", options.output, false) ||
	    check_file("--openmetrics", options.openmetrics, true))
		return -1;
	if (options.digits > HIST_DIGITS_MAX)
		return error_say("--digits wants %d to %d", HIST_DIGITS_MIN, HIST_DIGITS_MAX), -1;
	if (order->dma_us > INT32_MAX)
		return error_say("--dma-latency wants at most %d us", INT32_MAX), -1;
	if (choose_cpus(&order->cpus) || measure->prepare(&options, order, result) ||
	    choose_policy(&order->policy, order->period_ns))
		return -1;
	if (options.why_ns && (order->method->beside || options.fed))
		return error_say("--why is for what threads of this command measure: the kernel's tracers tell classes by themselves"), -1;
	if (options.worst > WORST_MAX)
		return error_say("--worst wants 1 to %d", WORST_MAX), -1;
	if (options.worst && !options.why_ns)
		return error_say("--worst is for --why"), -1;
	if (options.with_cpus.given && !options.with)
		return error_say("--with-cpus is for --with"), -1;
	if (!options.with_cpus.given && affinity_get(&options.with_cpus))
		return error_say("the CPUs of this process are not known"), -1;
	return make_gates(result);
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
	if (options.json)
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
	for (size_t i = 0; i < ARRAY_SIZE(measures); i++)
		if (!strcmp(measures[i]->name, argv[0]))
			measure = measures[i];
	if (!measure)
		return error_say("there is no measure \"%s\"; see isolator measure --help", argv[0]);
	result_init(&result, measure->name, "");
	if (!make_order(&order, &result)) {
		wait_prepare();
		code = audit_and_run(&order, &result);
	}
	if (measure->done)
		measure->done();
	free(result.gates);
	result_free(&result);
	return code;
}

const struct command measure_command = {
	.name = "measure",
	.operands = "latency|noise|hardware|rtc",
	.words = "latency noise hardware rtc",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "how late a thread is, or what interrupts it; within limits?",
	.about = "latency: puts a thread on each CPU that waits for a time, again and again, and looks how late it runs then. noise: puts a thread on a CPU that does nothing but look at the clock, and tells gaps in which something else had the CPU, and the share of each second that was lost so. hardware: looks with interrupts off, where what takes time is firmware, a hypervisor or an NMI. rtc: reads the real-time clock's periodic interrupts. Shows percentiles with the upper bounds that so many samples allow, a histogram, what it looks like, and what is lost where it has not the rights it wants. Each trigger has a value or is counted as missing: a run whose account is not even is invalid.",
	.options = specs,
	.examples = (const char *const []){
		"isolator measure latency", "all CPUs, for 5 seconds, also without root",
		"sudo isolator measure latency -c 3 -t 60 --limit max=50us --limit p99.9=20us",
		"a gate: exit 2 if CPU 3 is later than that",
		"sudo isolator measure latency -c 3 --dma-latency 0", "without deep idle states",
		"isolator measure noise -c 3 -t 60 --limit max=10us", "what takes CPU 3 from a thread that never waits",
		"isolator measure latency -t 86400 --output night.json", "a record, also if it is killed",
		NULL,
	},
	.exits = (const char *const []){
		"0", "measured, and all limits hold",
		"1", "an error, which says what to do about it",
		"2", "a limit was exceeded",
		"3", "inconclusive: too few samples for a limit; or invalid: values were lost uncounted, or a setting that was asked for did not hold",
		"77", "skipped: this machine has nothing to measure that with, and says what is missing",
		NULL,
	},
	.run = run,
};
