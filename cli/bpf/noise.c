// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator-bpf noise: what took time on these CPUs, all of it, counted in the kernel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/term.h"
#include "base/text.h"
#include "base/wait.h"
#include "bpf/noise.h"
#include "machine/affinity.h"
#include "options/command.h"

#define NAP_NS (WAIT_SECOND / 50)	/* between two looks at the ring */
#define COST_NS WAIT_SECOND		/* the kernel measures the programs as long, or a tenth */
#define MOST 1000			/* excesses that are kept */

static struct noise_options options = {
	.time_ns = 10 * WAIT_SECOND, .threshold_ns = 10000, .top = 10, .ring_bytes = 1 << 20,
};

static int run_noise(int argc, char **argv);

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "LIST", "the CPUs to look at, such as 1 or 1,3-5",
	  { .cpus = &options.cpus }, 0 },
	{ "time", 't', OPTION_SECONDS, "SEC", "how long, in seconds (default 10)",
	  { .ns = &options.time_ns }, 0 },
	{ "threshold", 0, OPTION_TIME, "US",
	  "what takes a task's CPU for as long at one stretch is told apart, with its parts: us, or with a unit (default 10)",
	  { .ns = &options.threshold_ns }, 0 },
	{ "limit", 0, OPTION_TIME, "US", "exit code 2 if anything took a task's CPU for longer: us, or with a unit (default: none)",
	  { .ns = &options.limit_ns }, 0 },
	{ "of", 0, OPTION_NUMBER, "PID",
	  "what is taken from this process or thread; what it runs itself is left out (default: from every task of user space)",
	  { .number = &options.of }, 1 },
	{ "top", 0, OPTION_NUMBER, "N", "the N worst stretches, and at most N rows a table (default 10); JSON has all rows",
	  { .number = &options.top }, 1 },
	{ "no-stacks", 0, OPTION_FLAG, NULL, "do not record the stacks of those who send and wake, which costs them about a microsecond each time",
	  { .flag = &options.no_stacks }, 0 },
	{ "json", 0, OPTION_FLAG, NULL, "one JSON object (schema isolator.bpf-noise, version 1)",
	  { .flag = &options.json }, 0 },
	{ "ring", 0, OPTION_SIZE, "SIZE", NULL, { .bytes = &options.ring_bytes }, 0 },
	{ "output", 0, OPTION_FILE, "FILE", "write that object to FILE too, anew each second",
	  { .text = &options.output }, 0 },
	{ 0 },
};

const struct command noise_command = {
	.name = "noise",
	.summary = "what took time on these CPUs, and what it took from a task",
	.about = "Counts in the kernel, on the given CPUs, how long each interrupt, softirq, timer, work, call of another CPU and thread had the CPU, what was nested in it left out, how often pages were faulted in, and what a task lost at one stretch. Nothing is lost at high rates or over days, and what could not be told is counted. It needs root and a kernel with BPF and BTF.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator-bpf noise -c 3", "ten seconds of CPU 3, whatever runs there",
		"sudo isolator-bpf noise -c 3 --of 4711 -t 86400 --output day.json", "a day of what is taken from process 4711",
		"sudo isolator-bpf noise -c 2-3 --threshold 5us --limit 50us", "a gate: exit code 2 if a task lost 50 us at one stretch",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done, and --limit was not exceeded",
		"1", "an error, which says what to do about it",
		"2", "--limit was exceeded",
		"3", "inconclusive: not everything could be counted",
		"77", "skipped: without root, BPF or BTF there is nothing to count with",
		NULL,
	},
	.run = run_noise,
};

static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * WAIT_SECOND + (uint64_t)now.tv_nsec;
}

static void take_loss(void *context, const struct record_loss *loss)
{
	struct noise_run *run = context;
	struct finding finding;

	run->looked++;
	loss_finding(&run->reader, loss, run->real_ns, &finding);
	ranking_add(&run->ranking, &finding);
}

static void take_tally(void *context, const struct record_key *key,
		       const struct record_tally *tally)
{
	struct noise_run *run = context;

	sums_add(&run->sums, &run->reader, key, tally);
}

/* All that was counted so far.  0, or an exit code, said why. */
static int look(struct noise_run *run, struct programs *programs)
{
	int error = programs_losses(programs, take_loss, run);

	sums_free(&run->sums);
	if (!error)
		error = programs_tallies(programs, take_tally, run);
	if (error)
		return error_say("what was counted cannot be read: %s", strerror(error));
	sums_sort(&run->sums);
	for (size_t i = 0; i < run->nr_cpus; i++)
		if (!programs_state(programs, run->cpus[i].cpu, &run->cpus[i].state))
			return error_say("CPU %d is none of this machine's; see /sys/devices/system/cpu/possible",
					 run->cpus[i].cpu);
	ranking_sort(&run->ranking);
	run->ended_ns = wait_clock_ns();
	return 0;
}

/* What was not told yet as nothing came after it. */
static void look_last(struct noise_run *run)
{
	for (size_t i = 0; i < run->nr_cpus; i++) {
		struct record_loss loss;

		if (!loss_last(&run->cpus[i].state, run->ended_ns, &loss) ||
		    loss.to_ns - loss.from_ns < options.threshold_ns)
			continue;
		run->cpus[i].state.above++;
		take_loss(run, &loss);
	}
	ranking_sort(&run->ranking);
}

static int save(const struct noise_run *run)
{
	size_t size;
	char *text;
	FILE *out;
	int error;

	if (!options.output)
		return 0;
	out = text_open(&text, &size);
	noise_json(out, run);
	fclose(out);
	error = file_replace(options.output, text, size);
	free(text);
	return error ? error_say("%s: %s", options.output, strerror(error)) : 0;
}

/* Until it is over.  0, or an exit code, said why. */
static int watch(struct noise_run *run, struct programs *programs)
{
	uint64_t end_ns = run->began_ns + options.time_ns, next_ns = run->began_ns + WAIT_SECOND;
	uint64_t cost_ns = options.time_ns / 10 < COST_NS ? options.time_ns / 10 : COST_NS;
	uint64_t now = run->began_ns;
	int code = 0;

	programs_measure(programs, true);
	while (!code && now < end_ns) {
		uint64_t until = now + NAP_NS < end_ns ? now + NAP_NS : end_ns;
		int error;

		run->early = !wait_until(until);
		if (run->early)
			break;
		now = wait_clock_ns();
		if (!run->cost_ns && now - run->began_ns >= cost_ns) {
			programs_measure(programs, false);
			run->cost_ns = now - run->began_ns;
		}
		error = programs_losses(programs, take_loss, run);
		if (error)
			code = error_say("what was lost cannot be read: %s", strerror(error));
		if (!code && options.output && now >= next_ns) {
			code = look(run, programs);
			if (!code)
				code = save(run);
			next_ns = now + WAIT_SECOND;
		}
	}
	if (!run->cost_ns)
		run->cost_ns = wait_clock_ns() - run->began_ns;
	return code;
}

/* Where this program itself is not in what it shows, if there is such a place. */
static void step_aside(void)
{
	struct cpulist own = { 0 };

	if (affinity_get(&own))
		return;
	cpulist_minus(&own, &options.cpus);
	if (!cpulist_empty(&own))
		affinity_set(0, &own);
}

/* 0, or an exit code, said why. */
static int check(struct noise_run *run)
{
	struct cpulist online = { .given = true };
	char text[4096];

	if (!options.cpus.given)
		return error_say("it needs -c LIST: the CPUs to look at");
	if (options.output && file_check_ordinary("--output", options.output))
		return EXIT_ERROR;
	if (!file_word(text, sizeof(text), "/sys/devices/system/cpu/online") ||
	    !cpulist_read(text, &online))
		return error_say("/sys/devices/system/cpu/online cannot be read: mount sysfs");
	if (!cpulist_within(&options.cpus, &online))
		return error_say("not all of these CPUs are online; those that are: %s", text);
	for (int cpu = -1; (cpu = cpulist_next(&options.cpus, cpu)) >= 0;)
		ARRAY_ADD(run->cpus, run->nr_cpus)->cpu = cpu;
	return 0;
}

static int measure(struct noise_run *run, struct programs *programs)
{
	int code;

	run->notes = programs_notes(programs);
	run->reader.stack = programs_stack;
	run->reader.context = programs;
	run->began_ns = run->ended_ns = wait_clock_ns();
	run->real_ns = real_ns() - run->began_ns;
	run->running = true;
	programs_count(programs, true);
	code = watch(run, programs);
	programs_count(programs, false);
	programs_detach(programs);
	run->running = false;
	run->cost = programs_cost(programs);
	if (!code)
		code = look(run, programs);
	if (code)
		return code;
	look_last(run);
	code = save(run);
	if (options.json)
		noise_json(stdout, run);
	else
		noise_text(stdout, run, term_colours(stdout));
	return code ? code : noise_exit(run);
}

static int run_noise(int argc, char **argv)
{
	const struct programs_wanted wanted = {
		.cpus = &options.cpus, .threshold_ns = options.threshold_ns,
		.of = (int)options.of, .stacks = !options.no_stacks,
		.ring_bytes = options.ring_bytes,
	};
	struct noise_run run = { .options = &options };
	struct programs *programs;
	struct names names;
	size_t size;
	char *why;
	int code = check(&run), error;

	(void)argc;
	(void)argv;
	if (code)
		return code;
	step_aside();
	wait_prepare();
	programs = programs_open(&wanted, &why, &error);
	if (!programs) {
		bool lacks = error == EPERM || error == ENOENT || error == ENOSYS;

		error_say("%s%s; nothing is counted. isolator measure noise --why tells of causes without BPF, and isolator watch of rates",
			  lacks ? "skipped: " : "", why);
		free(why);
		free(run.cpus);
		return lacks ? EXIT_SKIPPED : EXIT_ERROR;
	}
	names_open(&names, file_read("/proc/kallsyms", &size), NULL, -1);
	run.reader.names = &names;
	ranking_open(&run.ranking, options.top > MOST ? MOST : options.top);
	code = measure(&run, programs);
	programs_close(programs);
	ranking_close(&run.ranking);
	sums_free(&run.sums);
	names_close(&names);
	free(run.cpus);
	return code;
}
