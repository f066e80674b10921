// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator status: which CPUs may be isolated, which are, and whose they are. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/term.h"
#include "options/command.h"
#include "proc/holder.h"
#include "proc/limit.h"
#include "proc/json.h"
#include "proc/text.h"

static struct {
	bool json;
	const char *directory;
	const char *root;
} options = {
	.directory = PROC_DIRECTORY,
	.root = "/",
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "json", 0, OPTION_FLAG, NULL, "one JSON object (schema isolator.status, version 1)",
	  { .flag = &options.json }, 0 },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  { .text = &options.directory }, 0 },
	/* Whose processes it looks through. */
	{ "root", 0, OPTION_DIRECTORY, "DIR", NULL, { .text = &options.root }, 0 },
	{ 0 },
};

struct status {
	struct proc_sample sample;
	struct limits limits;
	struct holders holders;
};

static void put_limits(FILE *out, const struct limits *limits)
{
	char deadline[TERM_TIME], spin[TERM_TIME];

	if (!limits->text) {
		fprintf(out, "Limits: not known (%s)\n", strerror(limits->error));
		return;
	}
	fprintf(out, "Limits: a deadline of %s, a spin of %s; counters that others open there (perf): ",
		term_time(deadline, limits->deadline_ns), term_time(spin, limits->spin_ns));
	term_put(out, limits->perf);
	fputs("; registers that others read (msr): ", out);
	term_put(out, limits->msr);
	fputc('\n', out);
}

/* The one that the kernel names; of an older one all that fit. */
static void put_holders(FILE *out, const struct holders *holders, const struct proc_cpu *cpu)
{
	const char *before = "  by ";

	for (size_t i = 0; i < holders->count; i++) {
		const struct holder *holder = &holders->list[i];

		if (holder->cpu != cpu->cpu)
			continue;
		fputs(before, out);
		term_put(out, holder->name);
		fprintf(out, " (pid %d, thread %d)", holder->pid, holder->tid);
		before = " or ";
	}
	if (before[1] != ' ')
		return;
	if (cpu->owner > 0)
		fprintf(out, "  by thread %d", cpu->owner);
	else
		fprintf(out, "  by a thread that is not seen from here (run it %soutside of containers)",
			cpu->owner == PROC_UNSAID ? "as root, " : "");
}

static void put_cpu(FILE *out, const struct status *status, const struct proc_cpu *cpu,
		    bool colours)
{
	char time[TERM_TIME];

	proc_text_state(out, cpu, colours);
	if (!cpu->isolated)
		return;
	put_holders(out, &status->holders, cpu);
	if (cpu->started_ns && cpu->started_ns < status->sample.taken_ns)
		fprintf(out, ", for %s",
			term_time(time, status->sample.taken_ns - cpu->started_ns));
	proc_text_ticks(out, cpu);
	fputc('\n', out);
}

static void put_text(FILE *out, const struct status *status)
{
	const struct proc_sample *sample = &status->sample;
	const struct cpulist all = { 0 };
	bool colours = term_colours(out);

	if (*sample->isolated) {
		fputs("May be isolated: ", out);
		term_put(out, *sample->allowed ? sample->allowed : "none");
		fputs("\nIsolated: ", out);
		term_put(out, sample->isolated);
		fputc('\n', out);
	} else {
		proc_text_nothing(out, sample, &all);
	}
	put_limits(out, &status->limits);
	for (size_t i = 0; i < sample->nr_cpus; i++)
		put_cpu(out, status, &sample->cpus[i], colours);
}

static void put_json_limits(struct json *json, const struct limits *limits)
{
	if (!limits->text) {
		json_null(json, "limits");
		return;
	}
	json_open(json, "limits", '{');
	json_number(json, "deadline_ns", limits->deadline_ns);
	json_number(json, "spin_ns", limits->spin_ns);
	json_string(json, "perf", limits->perf);
	json_string(json, "msr", limits->msr);
	json_close(json, '}');
}

static void put_json(FILE *out, const struct status *status)
{
	struct json json = { .out = out };

	proc_json_open(&json, "isolator.status", &status->sample);
	put_json_limits(&json, &status->limits);
	json_open(&json, "cpus", '[');
	for (size_t i = 0; i < status->sample.nr_cpus; i++) {
		const struct proc_cpu *cpu = &status->sample.cpus[i];

		proc_json_cpu(&json, cpu);
		proc_json_status(&json, cpu);
		json_open(&json, "holders", '[');
		for (size_t k = 0; cpu->isolated && k < status->holders.count; k++) {
			const struct holder *holder = &status->holders.list[k];

			if (holder->cpu != cpu->cpu)
				continue;
			json_open(&json, NULL, '{');
			json_string(&json, "name", holder->name);
			json_integer(&json, "pid", holder->pid);
			json_integer(&json, "tid", holder->tid);
			json_close(&json, '}');
		}
		json_close(&json, ']');
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_document_end(&json);
}

static int run(int argc, char **argv)
{
	struct status status = { 0 };

	(void)argc;
	(void)argv;
	if (proc_read(options.directory, false, &status.sample))
		return EXIT_ERROR;
	if (limits_read(options.directory, &status.limits)) {
		proc_free(&status.sample);
		return EXIT_ERROR;
	}
	if (*status.sample.isolated)
		holders_find(&status.holders, options.root, &status.sample);
	if (options.json)
		put_json(stdout, &status);
	else
		put_text(stdout, &status);
	holders_free(&status.holders);
	limits_free(&status.limits);
	proc_free(&status.sample);
	return EXIT_PASS;
}

const struct command status_command = {
	.name = "status",
	.summary = "which CPUs may be isolated, which are, by whom and with which bounds",
	.about = "Shows which CPUs may be isolated and which are; of each of these the thread that did it, since when, the deadlines in force and what its start did not achieve; of those that were, how it ended; and the administrator's limits. With nothing allowed, or no Isolator in the kernel, it says what to do.",
	.options = specs,
	.examples = (const char *const []){
		"isolator status", "all CPUs",
		"isolator status --json", "for a program",
		NULL,
	},
	.exits = (const char *const []){
		"0", "the state was shown, also if no CPU is isolated",
		"1", "an error, which says what to do about it",
		NULL,
	},
	.run = run,
};
