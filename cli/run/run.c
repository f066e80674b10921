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
	{ "cpu", 'c', OPTION_CPUS, "CPU", "the CPU to be quiet, or a list of them; the program is pinned to it",
	  { .cpus = &run_one.cpus }, 0 },
	{ "rest", 0, OPTION_CPUS, "CPUS", "more CPUs for the program alone: it starts there, and the thread that is to be left alone pins itself to CPU",
	  { .cpus = &run_one.rest }, 0 },
	{ "user", 0, OPTION_USER, "NAME", "run the program as this user of /etc/passwd (default: the user who called sudo)",
	  { .text = &run_one.user_name }, 0 },
	{ "policy", 0, OPTION_WORD, "other|fifo|rr", "the program's scheduling policy (default other); with fifo and rr, one that never sleeps starves the kernel's own threads of that CPU",
	  { .number = &run_one.policy }, 0 },
	RUN_OPTION_PRIORITY(run_one),
	{ "thread", 0, OPTION_TEXTS, "NAME=CPU", "isolate the thread of this name on this CPU as soon as it is there; may be given several times, and needs --rest",
	  { .texts = &run_one.named }, 0 },
	RUN_OPTIONS_ISOLATION(run_one, "program"),
	{ "preload", 0, OPTION_FILE, "LIBRARY", "for a dynamically linked program that makes few system calls: tick in its calls of clock_gettime, pthread_mutex_lock and the like, too; LIBRARY is libisolator-preload.so, or a path to it",
	  { .text = &run_one.preload }, 0 },
	{ "no-isolation", 0, OPTION_FLAG, NULL, "do not use the kernel's Isolator, if it has one",
	  { .flag = &run_one.no_isolation }, 0 },
	{ "keep-malloc", 0, OPTION_FLAG, NULL, "leave malloc as it is; else MALLOC_TRIM_THRESHOLD_=-1 and MALLOC_MMAP_MAX_=0 keep it from giving memory back, unless they are set",
	  { .flag = &run_one.keep_malloc }, 0 },
	{ "no-settings", 0, OPTION_FLAG, NULL, "change no setting of the machine: only pin, schedule and report",
	  { .flag = &run_one.no_settings }, 0 },
	{ "best-effort", 0, OPTION_FLAG, NULL, "go on where something may not be changed (default: say all that may not, and change nothing)",
	  { .flag = &run_one.best_effort }, 0 },
	{ "verbose", 'v', OPTION_FLAG, NULL, "report everything: each setting, each interrupt, what remains",
	  { .flag = &run_one.verbose }, 0 },
	{ "output", 'o', OPTION_FILE, "FILE", "write the whole report to FILE when the program has ended; - is standard output",
	  { .text = &output_path }, 0 },
	{ "json", 0, OPTION_FLAG, NULL, "the report of --output is one JSON object (schema isolator.run, version 1)",
	  { .flag = &want_json }, 0 },
	{ "root", 0, OPTION_DIRECTORY, "DIR", NULL, { .text = &run_one.root }, 0 },
	{ 0 },
};

/* Do the options fit together?  -1, said why. */
static int check_options(struct run *run)
{
	if (want_json && !output_path) {
		error_say("--json is for the report of --output: -o FILE, or -o - for standard output");
		return -1;
	}
	if (!run->cpus.given) {
		error_say("--cpu is missing: which CPU is to be quiet? isolator audit says which are fit");
		return -1;
	}
	if (run->rest.given && cpulist_common(&run->rest, &run->cpus)) {
		error_say("--rest names the CPU of --cpu: it is for other ones");
		return -1;
	}
	if (run_options_priority(run, run->policy != RUN_OTHER) || run_threads_parse(run))
		return -1;
	if (run->preload && strchr(run->preload, '/') && access(run->preload, R_OK)) {
		error_say("--preload %s: %s", run->preload, strerror(errno));
		return -1;
	}
	if (run->no_isolation && (run->preload || isolate_wish_given(&run->wish))) {
		error_say("--beat, --deadline, --spin and --preload are for an isolated program, and --no-isolation leaves that out");
		return -1;
	}
	run->own = run->cpus;
	for (int cpu = -1; run->rest.given && (cpu = cpulist_next(&run->rest, cpu)) >= 0;)
		cpulist_add(&run->own, cpu);
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
		error_say("--root wants a directory");
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
	struct interrupts before, softirqs_before;
	int code;

	if (run->group.path) {
		int error = group_enter(&run->group, child->pid);

		if (error) {
			error_say("cannot move the program into %s: %s", run->group.path,
				  strerror(error));
			run_child_drop(child);
			return EXIT_OWN;
		}
	}
	if (run_start_arm(run, child->pid)) {
		run_child_drop(child);
		return EXIT_OWN;
	}
	run_tell_begin(run);
	interrupts_read(&before, run->root, INTERRUPTS_PATH, &run->cpus);
	interrupts_read(&softirqs_before, run->root, SOFTIRQS_PATH, &run->cpus);
	code = run_child_go(child, run);
	*ran = !code;
	if (*ran) {
		run_start_executed(run);
		run_child_wait(child, run, end);
		run_start_end(run, child->pid);
		interrupts_read(&end->interrupts, run->root, INTERRUPTS_PATH, &run->cpus);
		interrupts_read(&end->softirqs, run->root, SOFTIRQS_PATH, &run->cpus);
		interrupts_since(&end->interrupts, &before);
		interrupts_since(&end->softirqs, &softirqs_before);
		code = run->unisolated ? EXIT_OWN : end->code;
	}
	interrupts_free(&before);
	interrupts_free(&softirqs_before);
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
		error_say("--output %s: %s", output_path, strerror(error));
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
		error_say("--output %s: %s", output_path, strerror(error));
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
	/* Before the journal: so it has no descriptor that shall be closed with this process. */
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
	interrupts_free(&end.interrupts);
	interrupts_free(&end.softirqs);
	return code || run->restored ? code : EXIT_OWN;
}

static int run_program(int argc, char **argv)
{
	struct run *run = &run_one;
	struct file_new output = { 0 };
	int code = EXIT_OWN;

	(void)argc;
	run->argv = argv;
	/* Before anything changes: where it cannot be written is to be known by then. */
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
	.about = "Makes a CPU as quiet as this kernel lets it be: other tasks, interrupts, threads and work of the kernel go to the other CPUs, and what comes to each CPU by itself is turned off. On a kernel with Isolator the program, or the threads that are named or pin themselves to such a CPU, are isolated, too: nothing interrupts them in user mode. Then it runs the program there, as the user who called sudo, passes signals on, and when it has ended puts each setting back and tells what interrupted the CPU and what remains. Each setting is noted in /run/isolator before it is changed: isolator restore undoes what a run that was killed left.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator run -c 3 -- ./control --period 1000", "CPU 3 for it alone",
		"sudo isolator run -c 3 --policy fifo --priority 80 -- ./control",
		"before all others that are ready",
		"sudo isolator run -c 3 --rest 1-2 -- ./many-threads",
		"CPU 3 for the thread that pins itself there, 1 and 2 for its others",
		"sudo isolator run -c 3 --rest 1-2 --thread control=3 -- ./many-threads",
		"the same for a thread that does not pin itself",
		"sudo isolator run -c 3 --beat 20 -- ./spin",
		"it makes no system calls: what is due interrupts it every 20 ms at most",
		"isolator run -c 3 --no-settings -- ./control",
		"without privilege: see what interrupts it",
		NULL,
	},
	.exits = (const char *const []){
		"N", "that of the program; 128 and its number if a signal ended it",
		"125", "an error of run itself, which says what to do about it; also if something was not restored",
		"126", "the program cannot be run",
		"127", "the program was not found",
		NULL,
	},
	.failed = EXIT_OWN,
	.run = run_program,
};
