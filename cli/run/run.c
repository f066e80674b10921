// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator run: makes CPUs quiet, runs a program there, and puts all back. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "journal/undo.h"
#include "machine/online.h"
#include "options/command.h"
#include "proc/device.h"
#include "run/run.h"
#include "run/options.h"

#define EXIT_SIGNALLED 128

static struct run run_one = RUN_INIT;

static const char *output_path;	/* NULL: not given */
static bool want_json;

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "the CPUs to make quiet; the program is pinned to them",
	  .to.cpus = &run_one.cpus },
	{ "rest", 0, OPTION_CPUS, "CPUS", "more CPUs for the program only: it starts there, and the thread to isolate pins itself to a CPU of -c",
	  .to.cpus = &run_one.rest },
	{ "thread", 0, OPTION_TEXTS, "NAME=CPU", "with --rest: isolate the thread of this name on this CPU as soon as it exists; may be repeated",
	  .to.texts = &run_one.named, .rare = true },
	{ "user", 0, OPTION_USER, "NAME", "run the program as this user (default: sudo's caller)",
	  .to.text = &run_one.user_name },
	{ "policy", 0, OPTION_WORD, "other|fifo|rr", "scheduling policy (default other); a fifo or rr program that never sleeps starves the kernel's threads there",
	  .to.number = &run_one.policy },
	RUN_OPTION_PRIORITY(run_one),
	RUN_OPTIONS_ISOLATION(run_one, "program"),
	{ "preload", 0, OPTION_FILE, "LIBRARY", "tick in calls such as clock_gettime and pthread_mutex_lock, too, if a dynamically linked program makes few system calls; LIBRARY is libisolator-preload.so, or a path to it",
	  .to.text = &run_one.preload, .rare = true },
	{ "no-isolation", 0, OPTION_FLAG, NULL, "do not use the kernel's Isolator",
	  .to.flag = &run_one.no_isolation, .rare = true },
	{ "keep-malloc", 0, OPTION_FLAG, NULL, "do not tune malloc; by default MALLOC_TRIM_THRESHOLD_=-1 and MALLOC_MMAP_MAX_=0 keep it from giving memory back, unless they are set",
	  .to.flag = &run_one.keep_malloc, .rare = true },
	{ "no-settings", 0, OPTION_FLAG, NULL, "change no settings: only pin, schedule and report",
	  .to.flag = &run_one.no_settings },
	{ "best-effort", 0, OPTION_FLAG, NULL, "skip settings that this user may not change (default: list them and change nothing)",
	  .to.flag = &run_one.best_effort },
	{ "verbose", 'v', OPTION_FLAG, NULL, "report each setting, each interrupt, and what remains",
	  .to.flag = &run_one.verbose },
	{ "output", 'o', OPTION_OUTPUT, "FILE", "write the whole report to FILE; - is standard output",
	  .to.text = &output_path },
	{ "json", 0, OPTION_FLAG, NULL, "with -o: write JSON (schema isolator.run, version 1)",
	  .to.flag = &want_json },
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &run_one.root },
	{ 0 },
};

/* Do the options fit together?  -1, said why. */
static int check_options(struct run *run)
{
	if (want_json && !output_path) {
		error_say("--json needs --output: -o FILE, or -o - for standard output");
		return -1;
	}
	if (!run->cpus.given) {
		error_say("missing option -c CPUS, the CPUs to make quiet; isolator audit says which are suitable");
		return -1;
	}
	if (run->rest.given && cpulist_common(&run->rest, &run->cpus)) {
		error_say("--rest: it must not name a CPU of --cpu");
		return -1;
	}
	if (run_options_priority(run, run->policy != RUN_OTHER) || run_threads_parse(run))
		return -1;
	if (run->preload && strchr(run->preload, '/') && access(run->preload, R_OK)) {
		error_say("--preload %s: %s", run->preload, strerror(errno));
		return -1;
	}
	if (run->no_isolation && (run->preload || isolate_wish_given(&run->wish))) {
		error_say("--batch, --deadline, --spin, --quarantine and --preload need isolation: leave --no-isolation out");
		return -1;
	}
	run->own = run->cpus;
	if (run->rest.given)
		cpulist_union(&run->own, &run->rest);
	return 0;
}

/* Is there a CPU left for all else, and are those of --rest there?  -1, said why. */
static int check_cpus(struct run *run, const struct audit *audit)
{
	struct cpulist left = audit->online;
	int error = online_check("rest", &run->own, &audit->online);
	char *online, *taken;

	cpulist_minus(&left, &run->own);
	cpulist_minus(&left, &run->taken);
	if (!error && cpulist_empty(&left)) {
		online = cpulist_text(&audit->online);
		taken = cpulist_text(&run->taken);
		error_say("no CPU of %s is left for everything else%s%s%s", online,
			  *taken ? ": other programs have CPU " : "", taken,
			  *taken ? " for themselves" : "");
		free(taken);
		free(online);
		error = -1;
	}
	run->others = left;
	return error;
}

int run_prepare(struct run *run)
{
	struct capture capture;
	struct audit audit;
	int error;

	if (!run->no_settings && !root_trusted(run->root))
		return root_refuse(run->root);
	if (capture_open(&capture, run->root))
		return -1;
	if (capture.kind == CAPTURE_BUNDLE) {
		error_say("--root: it must be a directory");
		capture_free(&capture);
		return -1;
	}
	if (!run->no_settings)
		run->taken = journal_taken(run->root);
	if (audit_run(&audit, &capture, &run->cpus, &run->taken)) {
		capture_free(&capture);
		return -1;
	}
	run->isolator = device_there(run->root);
	run->isolate = run->isolator && !run->no_isolation && !run->no_settings;
	run->threads_watched = run->nr_threads || (run->isolate && !run_start_at_exec(run));
	error = check_cpus(run, &audit);
	if (!error && !run->attached)
		error = user_find(&run->user, run->user_name);
	if (!error && !run->no_settings)
		run_plan(run, &audit);
	if (!error)
		run_look_at_rights(run);
	audit_free(&audit);
	capture_free(&capture);
	if (!error && run->nr_lacks) {
		run_tell_lacks(run);
		error = run->best_effort ? 0 : -1;
	}
	return error;
}

/* What there is now, and therefore remains. */
static int look_again(struct run *run)
{
	if (capture_open(&run->capture, run->root))
		return -1;
	if (audit_run(&run->audit, &run->capture, &run->cpus, &run->taken)) {
		capture_free(&run->capture);
		return -1;
	}
	run->audited = true;
	return 0;
}

int run_quieten(struct run *run)
{
	const struct journal_owner owner = {
		.pid = run->attached ? run->attached : getpid(),
		.cpus = &run->own,
		.others = run->no_settings ? NULL : &run->others,
		.program = run->argv[0],
	};
	int error = 0;

	if (!run->no_settings && !run->no_journal) {
		if (journal_open(&run->journal, run->root, &owner))
			return -1;
		run->journalled = true;
		error = run_apply(run) || run_move_threads(run) ||
			(run->partition &&
			 group_make(&run->group, run->root, owner.pid, &run->own, &run->journal));
		journal_settle(&run->journal);
	}
	return error ? -1 : look_again(run);
}

static void calm_down(struct run *run)
{
	struct undo undo;

	if (run->latency >= 0)
		close(run->latency);
	run->restored = true;
	if (!run->journalled)
		return;
	journal_close(&run->journal);
	if (undo_journals(&undo, run->root, UNDO_RUNS)) {
		run->restored = false;
		return;
	}
	for (size_t i = 0; i < undo.count; i++)
		run->restored &= undo.journals[i].state != UNDO_STAYS;
	undo_free(&undo);
	if (!run->restored)
		error_say("something was not restored: fix what the messages above name, then run isolator restore");
}

/* The program's whole life; the exit code. */
static int attend(struct run *run, struct run_child *child, struct run_end *end, bool *ran)
{
	struct look before, now;
	int code;

	if (run->group.path) {
		int error = group_enter(&run->group, child->pid);

		if (error) {
			error_say("cannot move the program into %s: %s: a limit of that cgroup (pids.max) or another program's change may be why; try again",
				  run->group.path, strerror(error));
			run_child_drop(child);
			return EXIT_OWN;
		}
	}
	if (run_start_arm(run, child->pid)) {
		run_child_drop(child);
		return EXIT_OWN;
	}
	run_tell_begin(run);
	look_take(&before, run->root, &run->cpus);
	code = run_child_go(child, run);
	*ran = !code;
	if (*ran) {
		run_start_executed(run);
		run_child_wait(child, run, end);
		run_start_end(run, child->pid);
		look_take(&now, run->root, &run->cpus);
		since_make(&end->since, &before, &now, look_seconds(&before, &now));
		look_free(&now);
		code = run->unisolated ? EXIT_OWN : end->code;
	}
	look_free(&before);
	return code;
}

void run_free(struct run *run)
{
	for (size_t i = 0; i < run->nr_settings; i++) {
		free(run->settings[i].path);
		free(run->settings[i].wanted);
		change_free(&run->settings[i].change);
	}
	for (size_t i = 0; i < run->nr_missing; i++)
		free(run->missing[i].path);
	for (size_t i = 0; i < run->nr_lacks; i++) {
		free(run->lacks[i].what);
		free(run->lacks[i].why);
		free(run->lacks[i].command);
	}
	free(run->threads);
	free(run->named.texts);
	run_start_free(run);
	run_preload_free(run);
	free(run->settings);
	free(run->missing);
	free(run->lacks);
	group_free(&run->group);
	user_free(&run->user);
	if (run->audited) {
		audit_free(&run->audit);
		capture_free(&run->capture);
	}
}

static bool to_stdout(void)
{
	return output_path && !strcmp(output_path, "-");
}

/* 0, or -1, said why. */
static int begin_output(struct file_new *output)
{
	int error;

	if (!output_path || to_stdout())
		return 0;
	if (file_check_ordinary("--output", output_path))
		return -1;
	error = file_begin(output, output_path, 0666);
	if (error)
		error_say("%s %s: %s", error_option("output"), output_path, strerror(error));
	return error ? -1 : 0;
}

/* The same. */
static int end_output(struct file_new *output, const struct run *run, const struct run_end *end)
{
	size_t size;
	char *text;
	FILE *out;
	int error = 0;

	if (!output_path)
		return 0;
	out = text_open(&text, &size);
	if (want_json)
		run_json(out, run, end);
	else
		run_tell_end(out, run, end, true);
	fclose(out);
	if (to_stdout())
		fwrite(text, 1, size, stdout);
	else
		error = file_end(output, text, size);
	free(text);
	if (error)
		error_say("%s %s: %s", error_option("output"), output_path, strerror(error));
	return error ? -1 : 0;
}

static int go(struct run *run, struct file_new *output)
{
	struct run_child child;
	struct run_end end = { 0 };
	bool ran = false;
	int code = EXIT_OWN, asked;

	if (run->isolate && run->preload && run_preload_make(run))
		return EXIT_OWN;
	/* Before the journal: so it has no descriptor that must be closed with this process. */
	if (run_terminal_make(run))
		return EXIT_OWN;
	if (run_child_make(&child, run)) {
		run_terminal_end(&run->terminal);
		return EXIT_OWN;
	}
	run_terminal_made(&run->terminal);
	if (run_quieten(run)) {
		run_child_drop(&child);
	} else if ((asked = run_child_asked())) {
		run_child_drop(&child);
		code = EXIT_SIGNALLED + asked;
	} else {
		code = attend(run, &child, &end, &ran);
	}
	calm_down(run);
	run_terminal_end(&run->terminal);
	if (ran) {
		run_tell_end(stderr, run, &end, run->verbose);
		if (end_output(output, run, &end))
			code = code ? code : EXIT_OWN;
	}
	since_free(&end.since);
	return code || run->restored ? code : EXIT_OWN;
}

static int run_program(int argc, char **argv)
{
	struct run *run = &run_one;
	struct file_new output = { 0 };
	int code = EXIT_OWN;

	(void)argc;
	run->argv = argv;
	/* Before anything changes: if it cannot be written, that must be known by then. */
	if (!check_options(run) && !run_prepare(run) && !begin_output(&output)) {
		code = run_look_for_program(run);
		if (!code)
			code = go(run, &output);
	}
	file_drop(&output);
	run_free(run);
	return code;
}

const struct command run_command = {
	.name = "run",
	.operands = "[--] PROGRAM [ARGUMENT ...]",
	.min_operands = 1,
	.max_operands = INT_MAX,
	.summary = "run a program on a CPU that is made quiet for it",
	.about = "Moves other tasks, interrupts and kernel work off a CPU, turns off what the CPU does by itself, runs the program there, and undoes all changes when it ends. On a kernel with Isolator nothing interrupts the program in user mode. isolator restore undoes what a killed run left.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator run -c 3 -- ./control --period 1000", "give CPU 3 to this program alone",
		"sudo isolator run -c 3 --policy fifo --priority 80 -- ./control",
		"run it before all other tasks that are ready",
		"sudo isolator run -c 3 --rest 1-2 -- ./many-threads",
		"CPU 3 is for the thread that pins itself there, 1 and 2 for the others",
		"sudo isolator run -c 3 --rest 1-2 --thread control=3 -- ./many-threads",
		"the same for a thread that does not pin itself",
		"sudo isolator run -c 3 --batch 20ms -- ./spin",
		"for a program without system calls: pending work interrupts it every 20 ms at most",
		"isolator run -c 3 --no-settings -- ./control",
		"without privileges: see what interrupts the program",
		NULL,
	},
	.exits = (const char *const []){
		"N", "that of the program; 128 + the number of the signal that ended it",
		"125", "an error of run itself, or a setting could not be restored",
		"126", "the program cannot be executed",
		"127", "the program was not found",
		NULL,
	},
	.failed = EXIT_OWN,
	.run = run_program,
};
