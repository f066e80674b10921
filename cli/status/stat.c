// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator stat: what is kept away from the isolated CPUs, live. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/live.h"
#include "base/term.h"
#include "base/wait.h"
#include "options/command.h"
#include "status/stat.h"


static struct {
	struct cpulist only;
	uint64_t interval_ns;	/* 0: not given */
	unsigned int count;	/* 0: not given */
	unsigned int top;
	bool json;
	const char *directory;
} options = {
	.top = 10,
	.directory = PROC_DIRECTORY,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "LIST", "only these CPUs, such as 1 or 1,3-5; also those whose isolation has ended",
	  { .cpus = &options.only }, 0 },
	{ "interval", 0, OPTION_SECONDS, "SEC", "the time between samples, in seconds (default 1)",
	  { .ns = &options.interval_ns }, 0 },
	{ "count", 'n', OPTION_NUMBER, "N", "end after N samples (default: when interrupted; 1 if the output is no terminal and --interval is not given)",
	  { .number = &options.count }, 1 },
	{ "top", 0, OPTION_NUMBER, "N", "at most N rows of senders for each CPU, 0 for all (default 10); JSON always has all",
	  { .number = &options.top }, 0 },
	{ "json", 0, OPTION_FLAG, NULL, "one JSON object a line for each sample (schema isolator.stat, version 1)",
	  { .flag = &options.json }, 0 },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  { .text = &options.directory }, 0 },
	{ 0 },
};

const struct proc_cpu *stat_before(const struct stat_view *view, const struct proc_cpu *cpu)
{
	const struct proc_cpu *before = proc_cpu(view->before, cpu->cpu);
	struct counts since;

	if (!before || !before->isolated || !proc_since(cpu, before, &since))
		return NULL;
	return before;
}

double stat_seconds(const struct stat_view *view)
{
	if (!view->before)
		return 0;
	return (double)(view->now->taken_ns - view->before->taken_ns) / WAIT_SECOND;
}

const struct proc_sender *stat_longest(const struct proc_cpu *cpu)
{
	const struct proc_kind *kind = proc_longest(cpu);
	const struct proc_sender *longest = NULL;

	/* One that is not of this kind had another wait; of "others" nobody knows. */
	for (size_t i = 0; kind && i < cpu->nr_senders; i++) {
		const struct proc_sender *sender = &cpu->senders[i];

		if ((!strcmp(sender->kind, kind->name) || !strcmp(sender->kind, "others")) &&
		    sender->longest_ns > (longest ? longest->longest_ns : 0))
			longest = sender;
	}
	return longest;
}

bool stat_any(const struct stat_view *view)
{
	for (size_t i = 0; i < view->now->nr_cpus; i++)
		if (view->now->cpus[i].isolated &&
		    cpulist_has(view->only, view->now->cpus[i].cpu))
			return true;
	return false;
}

static void draw(FILE *out, const void *view)
{
	stat_text(out, view);
}

static void show(const struct stat_view *view, bool live)
{
	if (options.json) {
		stat_json(stdout, view);
	} else if (live) {
		live_show(draw, view);
	} else {
		if (view->before)
			putchar('\n');
		stat_text(stdout, view);
	}
}

static int run(int argc, char **argv)
{
	bool terminal = isatty(STDOUT_FILENO);
	bool live = terminal && !options.json && options.count != 1;
	unsigned int count = options.count;
	struct proc_sample samples[2] = { 0 };
	struct stat_view view = {
		.only = &options.only,
		.top = options.top,
		.colours = term_colours(stdout),
	};
	uint64_t next = wait_clock_ns();
	int code = EXIT_INCONCLUSIVE;

	(void)argc;
	(void)argv;
	if (!count && !terminal && !options.interval_ns)
		count = 1;
	if (!options.interval_ns)
		options.interval_ns = WAIT_SECOND;
	if (count != 1)
		wait_prepare();
	for (unsigned int n = 0;; n++) {
		struct proc_sample *now = &samples[n % 2];

		proc_free(now);
		if (proc_read(options.directory, false, now)) {
			code = EXIT_ERROR;
			break;
		}
		view.now = now;
		view.before = n ? &samples[(n + 1) % 2] : NULL;
		show(&view, live);
		/* A sample is seen when it is taken, by whoever reads a pipe too. */
		if (fflush(stdout)) {
			code = EXIT_ERROR;	/* main() says why */
			break;
		}
		if (stat_any(&view))
			code = EXIT_PASS;
		if (count && n + 1 == count)
			break;
		next = live_next(next, options.interval_ns);
		if (!wait_until(next)) {
			code = EXIT_PASS;
			break;
		}
	}
	/* The shell's prompt begins a line of its own, behind the ^C. */
	if (live)
		putchar('\n');
	proc_free(&samples[0]);
	proc_free(&samples[1]);
	return code;
}

const struct command stat_command = {
	.name = "stat",
	.summary = "live, what is kept away from each isolated CPU, and from whom it came",
	.about = "Shows for each isolated CPU how many requests were deferred, excluded, held, breached, broken and refused since its isolation began, and a second since the last sample; then the same for each sender, the worst first, and the longest hold. On a terminal it does so until Ctrl-C, and waits for a CPU to be isolated; else once.",
	.options = specs,
	.examples = (const char *const []){
		"isolator stat", "live, all isolated CPUs",
		"isolator stat --cpu 3 --count 1", "CPU 3, once",
		"isolator stat --json --interval 5 >> log", "a record every 5 seconds, until it is ended",
		NULL,
	},
	.exits = (const char *const []){
		"0", "something was shown, or Ctrl-C ended it",
		"1", "an error, which says what to do about it",
		"3", "inconclusive: no such CPU is isolated",
		NULL,
	},
	.run = run,
};
