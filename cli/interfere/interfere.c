// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator interfere: loads on chosen CPUs, until their time or a signal ends them. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/term.h"
#include "base/text.h"
#include "base/wait.h"
#include "interfere/interfere.h"
#include "machine/online.h"
#include "options/command.h"

#define LOOK_NS (WAIT_SECOND / 10)	/* whether the loads are still there */

const char *const interfere_states[] = {
	[INTERFERE_RAN] = "ran",
	[INTERFERE_IDLE] = "idle",
	[INTERFERE_FAILED] = "failed",
	[INTERFERE_ABSENT] = "absent",
	[INTERFERE_READY] = "ready",
};

static struct {
	struct cpulist cpus, targets;
	uint64_t window_ns;	/* 0: until a signal */
	bool list, json;
} options;

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "run the loads on these CPUs, such as 1 or 1,3-5; required",
	  .to.cpus = &options.cpus },
	{ "time", 't', OPTION_TIME, "TIME", "end after this time (default: run until Ctrl-C)",
	  .to.ns = &options.window_ns, .unit = "s" },
	{ "to", 0, OPTION_CPUS, "CPUS", "ipi: interrupt these CPUs (default: those of -c, each by the others)",
	  .to.cpus = &options.targets },
	{ "list", 0, OPTION_FLAG, NULL, "list the loads, and why some cannot run here",
	  .to.flag = &options.list },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.interfere, version 1)",
	  .to.flag = &options.json },
	{ 0 },
};

/* The runs of @names, which is cut up; false, said why. */
static bool name_runs(struct interfere_view *view, char *names)
{
	char *name;

	while ((name = strsep(&names, ","))) {
		const struct load_type *type = load_find(name);
		struct interfere_run *run;

		if (!type)
			return false;
		run = ARRAY_ADD(view->runs, view->count);
		run->name = name;
		run->type = type;
		run->why = load_missing(name);
		run->state = run->why ? INTERFERE_ABSENT : INTERFERE_READY;
	}
	return true;
}

/* All loads that there are; which stressors stress-ng runs is not said by its name. */
static void list_runs(struct interfere_view *view)
{
	for (const struct load_type *const *type = load_types; *type; type++) {
		struct interfere_run *run = ARRAY_ADD(view->runs, view->count);

		run->name = (*type)->name;
		run->type = *type;
		run->why = load_missing(strcmp(run->name, "stress") ? run->name : "stress:cpu");
		run->state = run->why ? INTERFERE_ABSENT : INTERFERE_READY;
	}
}

static bool any_absent(const struct interfere_view *view)
{
	bool absent = false;

	for (size_t i = 0; i < view->count; i++) {
		absent |= view->runs[i].state == INTERFERE_ABSENT;
		if (!options.json && view->runs[i].state == INTERFERE_ABSENT)
			error_say("%s cannot run here: %s", view->runs[i].name, view->runs[i].why);
	}
	return absent;
}

/* All of them, or none: 0; -1, said why. */
static int open_all(struct interfere_view *view)
{
	const struct load_order order = { .cpus = options.cpus, .targets = options.targets };

	for (size_t i = 0; i < view->count; i++) {
		struct interfere_run *run = &view->runs[i];

		run->load = load_open(run->name, &order);
		if (!run->load)
			return -1;
		run->cpus = calloc(load_cpus(run->load), sizeof(*run->cpus));
		if (!run->cpus)
			return error_say(ERROR_NO_MEMORY), -1;
	}
	return 0;
}

static int start_all(struct interfere_view *view)
{
	for (size_t i = 0; i < view->count; i++)
		if (load_start(view->runs[i].load))
			return -1;
	return 0;
}

/* From here on it counts. */
static void begin(struct interfere_run *run)
{
	for (size_t i = 0; i < load_cpus(run->load); i++)
		run->cpus[i] = load_count(run->load, i);
	if (!cpulist_empty(load_targets(run->load)))
		look_take(&run->before, "/", load_targets(run->load));
}

/* Nothing that comes later counts. */
static void conclude(struct interfere_run *run)
{
	struct look now;

	for (size_t i = 0; i < load_cpus(run->load); i++) {
		uint64_t before = run->cpus[i].operations;

		run->cpus[i] = load_count(run->load, i);
		run->cpus[i].operations -= before;
	}
	if (cpulist_empty(load_targets(run->load)))
		return;
	look_take(&now, "/", load_targets(run->load));
	since_make(&run->since, &run->before, &now, look_seconds(&run->before, &now));
	look_free(&now);
}

static bool all_running(struct interfere_view *view)
{
	bool running = true;

	for (size_t i = 0; i < view->count; i++)
		running &= load_running(view->runs[i].load);
	return running;
}

/* Until the time is over, a signal comes, or a load ends. */
static void wait_all(struct interfere_view *view)
{
	uint64_t from = wait_clock_ns(), next = from;
	uint64_t end = options.window_ns ? from + options.window_ns : UINT64_MAX;

	for (size_t i = 0; i < view->count; i++)
		begin(&view->runs[i]);
	while (next < end && all_running(view)) {
		next = next + LOOK_NS < end ? next + LOOK_NS : end;
		if (!wait_until(next)) {
			view->early = options.window_ns;
			break;
		}
	}
	view->seconds = (double)(wait_clock_ns() - from) / WAIT_SECOND;
	for (size_t i = 0; i < view->count; i++)
		conclude(&view->runs[i]);
}

uint64_t interfere_interrupts(const struct interfere_run *run, const char *class)
{
	const struct interrupts *came = &run->since.lists[LOOK_INTERRUPTS];
	uint64_t count = 0;

	for (size_t i = 0; i < came->count; i++)
		if (!strcmp(came->rows[i].class, class))
			count += came->rows[i].count;
	return count;
}

/* What came of a load that ran, and does not any more. */
static void judge(struct interfere_run *run)
{
	const char *why = load_failure(run->load);
	/* Known only of one that has whom to send to. */
	bool known = run->since.lists[LOOK_INTERRUPTS].known;

	run->state = why ? INTERFERE_FAILED : INTERFERE_RAN;
	for (size_t i = 0; !why && i < load_cpus(run->load); i++)
		if (!run->cpus[i].operations) {
			run->state = INTERFERE_IDLE;
			why = "it did nothing on one of its CPUs: is the time too short, or is the CPU busy with other work?";
		}
	if (!why && known && !interfere_interrupts(run, "call") &&
	    !interfere_interrupts(run, "resched") && !interfere_interrupts(run, "tlb")) {
		run->state = INTERFERE_IDLE;
		why = "it caused no interrupt on its target CPUs";
	}
	run->why = why ? text_format("%s", why) : NULL;
}

const char *interfere_verdict(const struct interfere_view *view, int *code)
{
	static const struct {
		enum interfere_state state;
		const char *verdict;
		int code;
	} worst[] = {
		{ INTERFERE_ABSENT, "skipped", EXIT_SKIPPED },
		{ INTERFERE_FAILED, "failed", EXIT_ERROR },
		{ INTERFERE_IDLE, "idle", EXIT_INCONCLUSIVE },
	};

	*code = EXIT_PASS;
	if (view->listing)
		return "listed";
	for (size_t i = 0; i < ARRAY_SIZE(worst); i++)
		for (size_t k = 0; k < view->count; k++)
			if (view->runs[k].state == worst[i].state) {
				*code = worst[i].code;
				return worst[i].verdict;
			}
	return "ran";
}

static int report(const struct interfere_view *view)
{
	int code;

	interfere_verdict(view, &code);
	if (options.json)
		interfere_json(stdout, view);
	else if (code != EXIT_SKIPPED)
		interfere_text(stdout, view);
	return code;
}

/* Are the CPUs that were given online?  0, or -1, said which are not. */
static int check_online(void)
{
	struct cpulist online;

	if (online_read("/", &online) || online_check("cpu", &options.cpus, &online))
		return -1;
	return options.targets.given ? online_check("to", &options.targets, &online) : 0;
}

static int run_all(struct interfere_view *view)
{
	/* Nothing is begun by halves: a load that is missing would go unnoticed beside others. */
	if (any_absent(view))
		return report(view);
	if (open_all(view) || start_all(view))
		return EXIT_ERROR;
	wait_all(view);
	for (size_t i = 0; i < view->count; i++) {
		load_stop(view->runs[i].load);
		judge(&view->runs[i]);
		if (view->runs[i].state == INTERFERE_FAILED)
			error_say("%s: %s", view->runs[i].name, view->runs[i].why);
	}
	return report(view);
}

static void free_all(struct interfere_view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		load_close(view->runs[i].load);
		look_free(&view->runs[i].before);
		since_free(&view->runs[i].since);
		free(view->runs[i].cpus);
		free(view->runs[i].why);
	}
	free(view->runs);
}

static int run(int argc, char **argv)
{
	struct interfere_view view = { .cpus = &options.cpus, .colours = term_colours(stdout) };
	char *names = NULL;
	int code = EXIT_ERROR;

	if (options.list && argc)
		return error_say("--list shows all loads: leave the load out");
	if (!options.list && !argc)
		return error_say("missing argument LOAD; isolator interfere --list shows all");
	if (!options.list && !options.cpus.given)
		return error_say("missing option -c CPUS, the CPUs to run on; see isolator interfere --help");
	if (options.list) {
		view.listing = true;
		list_runs(&view);
		code = report(&view);
	} else {
		names = text_format("%s", argv[0]);
		/* Also while a program is asked what it can: it ends before this. */
		wait_prepare();
		if (!check_online() && name_runs(&view, names))
			code = run_all(&view);
	}
	free_all(&view);
	free(names);
	return code;
}

const struct command interfere_command = {
	.name = "interfere",
	.operands = "LOAD[,LOAD...]",
	.words = "cache ipi stress:",
	.max_operands = 1,
	.summary = "run loads on chosen CPUs, and say what they did",
	.about = "Disturbs CPUs on purpose, to see what that does to others, and says how much it did on each. Its loads run on the chosen CPUs only, at an ordinary priority, and end with the command, however it ends. They leave no files. A load that did nothing is an error, not a silent success.",
	.options = specs,
	.examples = (const char *const []){
		"isolator interfere cache:l2 -c 1 -t 10s", "evict what CPU 1 has in its level 2 cache, for 10 seconds",
		"isolator interfere cache,stress:sock -c 0-1", "run two loads on both CPUs, until Ctrl-C",
		"isolator interfere ipi -c 0 --to 3 -t 5s", "interrupt CPU 3 from CPU 0, in all ways",
		"isolator interfere stress:vm -c 1 -t 60s", "run stress-ng's stressors of virtual memory",
		"isolator interfere --list", "list what can run here",
		NULL,
	},
	.exits = (const char *const []){
		"0", "each load did something on each of its CPUs",
		"1", "an error, or a load ended too early; the message says why",
		"3", "inconclusive: a load did nothing on one of its CPUs",
		"77", "skipped: a load cannot run here, and none was started; the message says why",
		NULL,
	},
	.run = run,
};
