// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator why: who wanted to interrupt the isolated CPUs, the worst first. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/term.h"
#include "base/wait.h"
#include "options/command.h"
#include "proc/text.h"
#include "status/state.h"
#include "status/why.h"

static struct {
	struct cpulist only;
	unsigned int top;
	uint64_t time_ns;	/* 0: since the isolation began */
	bool json;
	bool no_stack;
	const char *directory;
} options = {
	.top = 10,
	.directory = PROC_DIRECTORY,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "look only at these CPUs, such as 1 or 1,3-5 (default: isolated ones, else those whose isolation has ended)",
	  .to.cpus = &options.only },
	{ "time", 't', OPTION_TIME, "TIME", "count only what comes in this time from now on (default: since the isolation began)",
	  .to.ns = &options.time_ns, .unit = "s" },
	{ "top", 0, OPTION_NUMBER, "N", "show at most N senders, 0 for all (default 10)",
	  .to.number = &options.top },
	{ "no-stack", 0, OPTION_FLAG, NULL, "leave out the senders' stacks",
	  .to.flag = &options.no_stack },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.why, version 1)",
	  .to.flag = &options.json },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  .to.text = &options.directory, .rare = true },
	{ 0 },
};

size_t why_told(const struct why *why)
{
	return why->top && why->top < why->ranked.count ? why->top : why->ranked.count;
}

/* Is @cpu one to be looked at?  Those that were isolated only if there is no other. */
static bool selected(const struct proc_sample *sample, const struct proc_cpu *cpu)
{
	if (options.only.given)
		return cpulist_has(&options.only, cpu->cpu);
	return cpu->isolated || !*sample->isolated;
}

static bool any(const struct proc_sample *sample, bool isolated)
{
	for (size_t i = 0; i < sample->nr_cpus; i++)
		if (selected(sample, &sample->cpus[i]) &&
		    (sample->cpus[i].isolated || !isolated))
			return true;
	return false;
}

/* Of @cpu's deliveries, the first that is not among those of @before. */
static size_t first_delivery(const struct proc_cpu *cpu, const struct proc_cpu *before)
{
	uint64_t last = 0;
	size_t i;

	for (i = 0; before && i < before->nr_deliveries; i++)
		if (before->deliveries[i].at_ns > last)
			last = before->deliveries[i].at_ns;
	for (i = 0; i < cpu->nr_deliveries && cpu->deliveries[i].at_ns <= last; i++)
		;
	return i;
}

/* What came to one CPU; true: a deadline miss did. */
static bool look(struct why *why, const struct proc_cpu *cpu, const struct proc_sample *before)
{
	struct why_cpu *seen = ARRAY_ADD(why->cpus, why->nr_cpus);

	seen->now = cpu;
	seen->before = proc_cpu(before, cpu->cpu);
	seen->anew = !proc_since(cpu, seen->before, &seen->total) && before;
	if (seen->anew)
		seen->before = NULL;
	seen->first_delivery = first_delivery(cpu, seen->before);
	ranked_add(&why->ranked, cpu, seen->before);
	return seen->total.n[MISSED];
}

/* Reports on @now since @before, NULL for the beginning; returns the exit code. */
static int report(const struct proc_sample *now, const struct proc_sample *before)
{
	struct why why = {
		.now = now,
		.top = options.top,
		.stacks = !options.no_stack,
		.colours = term_colours(stdout),
	};
	bool missed = false;

	if (before)
		why.seconds = (double)(now->taken_ns - before->taken_ns) / 1e9;
	for (size_t i = 0; i < now->nr_cpus; i++) {
		const struct proc_cpu *cpu = &now->cpus[i];

		/* A span is of the CPUs that were isolated when it began. */
		if (before ? proc_cpu(before, cpu->cpu) &&
		    proc_cpu(before, cpu->cpu)->isolated &&
		    selected(before, proc_cpu(before, cpu->cpu)) : selected(now, cpu))
			missed |= look(&why, cpu, before);
	}
	ranked_rank(&why.ranked);
	if (options.json)
		why_json(stdout, &why);
	else
		why_text(stdout, &why);
	ranked_free(&why.ranked);
	free(why.cpus);
	return missed ? EXIT_EXCEEDED : EXIT_PASS;
}

/* There is no CPU to look at. */
static int nothing(const struct proc_sample *sample)
{
	struct why why = { .now = sample };

	if (options.json)
		why_json(stdout, &why);
	else
		proc_text_nothing(stdout, sample, &options.only);
	return EXIT_INCONCLUSIVE;
}

static int run(int argc, char **argv)
{
	struct proc_sample before, now;
	int code;

	(void)argc;
	(void)argv;
	if (state_check(&options.only, options.directory, "/") ||
	    proc_read(options.directory, true, &before))
		return EXIT_ERROR;
	if (!any(&before, options.time_ns)) {
		code = nothing(&before);
	} else if (!options.time_ns) {
		code = report(&before, NULL);
	} else {
		wait_prepare();
		wait_until(before.taken_ns + options.time_ns);
		code = EXIT_ERROR;
		if (!proc_read(options.directory, true, &now)) {
			code = report(&now, &before);
			proc_free(&now);
		}
	}
	proc_free(&before);
	return code;
}

const struct command why_command = {
	.name = "why",
	.summary = "show who tried to interrupt an isolated CPU, the worst first",
	.about = "Ranks the senders of requests to isolated CPUs: those of deadline misses first, then of immediate deliveries, then by the longest wait, then by count. For each it says what it asked for, what that means, what can be done, and from where it asked. Then it lists the interruptions that the kernel remembers.",
	.options = specs,
	.examples = (const char *const []){
		"isolator why", "show all since the isolation began",
		"isolator why -t 10s --top 3", "show the three worst of the next 10 seconds",
		"isolator why --json --no-stack", "for a program",
		NULL,
	},
	.exits = (const char *const []){
		"0", "there was no deadline miss",
		"1", "an error, which says what to do about it",
		"2", "a deadline was exceeded: there was a deadline miss",
		"3", "inconclusive: no such CPU is or was isolated",
		NULL,
	},
	.schema = "isolator.why",
	.json = &options.json,
	.run = run,
};
