// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator attach: a task that runs already gets a quiet CPU, and is isolated there. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/term.h"
#include "base/text.h"
#include "journal/journal.h"
#include "journal/undo.h"
#include "machine/kernels.h"
#include "machine/online.h"
#include "machine/task.h"
#include "options/command.h"
#include "proc/device.h"
#include "proc/json.h"
#include "run/run.h"
#include "run/options.h"
#include "run/undo.h"

#define SCHEMA_VERSION 1
#define SECOND 1000000000
#define WAIT_DEFAULT_NS ((uint64_t)10 * SECOND)
#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6	/* not every C library has it */
#endif

enum policy { KEEP, OTHER, FIFO, RR };

static struct run attach_run = RUN_INIT;

static struct {
	unsigned int policy;	/* enum policy */
	uint64_t wait_ns;
	bool lock;
	bool json;
} options = {
	.wait_ns = WAIT_DEFAULT_NS,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "the one CPU to make quiet; the task is pinned to it",
	  .to.cpus = &attach_run.cpus },
	{ "policy", 0, OPTION_WORD, "keep|other|fifo|rr", "scheduling policy of the task (default keep: do not change it)",
	  .to.number = &options.policy },
	RUN_OPTION_PRIORITY(attach_run),
	RUN_OPTIONS_ISOLATION(attach_run, "task"),
	{ "lock", 0, OPTION_FLAG, NULL, "lock the memory of its process; detach cannot unlock it",
	  .to.flag = &options.lock, .rare = true },
	{ "wait", 0, OPTION_TIME, "TIME", "give a sleeping task this time to run and be isolated (default 10s)",
	  .to.ns = &options.wait_ns, .unit = "s" },
	{ "best-effort", 0, OPTION_FLAG, NULL, "skip settings that this user may not change (default: list them and change nothing)",
	  .to.flag = &attach_run.best_effort },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.attach, version 1)",
	  .to.flag = &options.json },
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &attach_run.root },
	{ 0 },
};

static int check_options(struct run *run, const char *tid)
{
	int first = run->cpus.given ? cpulist_next(&run->cpus, -1) : -1;
	struct cpulist online;

	if (first < 0 || cpulist_next(&run->cpus, first) >= 0) {
		error_say("%s: give one CPU to isolate the task on", error_option("cpu"));
		return -1;
	}
	if (online_read(run->root, &online) || online_check("cpu", &run->cpus, &online))
		return -1;
	if (run_options_priority(run, options.policy >= FIFO))
		return -1;
	if (task_check_tid(tid))
		return -1;
	run->own = run->cpus;
	run->attached = (pid_t)strtol(tid, NULL, 10);
	return 0;
}

/* What can be done for it where the kernel has no Isolator: most of what attach does. */
static void put_instead(const struct run *run, const struct task *task)
{
	int cpu = cpulist_next(&run->cpus, -1);

	fprintf(stderr, "On this kernel, shield the CPU and move the task there:\n"
		"  isolator shield set --all %d\n  taskset -pc %d %s\n", cpu, cpu, task->tid);
}

/* 0; -1, said why this task cannot be attached. */
static int check_task(const struct run *run, const struct task *task)
{
	if (!device_there(run->root)) {
		kernels_say(run->root, "there is no " DEVICE_PATH);
		put_instead(run, task);
		return -1;
	}
	if (task->kernel) {
		error_say("%s is a kernel thread, and cannot be isolated", task->tid);
		return -1;
	}
	/* Whoever sets that has given it a runtime, a deadline and a period: nothing notes them. */
	if (options.policy != KEEP && task->policy == SCHED_DEADLINE) {
		error_say("%s has the policy SCHED_DEADLINE, which isolator detach could not give back: run chrt --other --pid 0 %s first, or leave --policy out",
			  task->tid, task->tid);
		return -1;
	}
	if (journal_is_attached(run->root, task->tid)) {
		error_say("%s is already attached: run isolator detach %s first", task->tid, task->tid);
		return -1;
	}
	return 0;
}

static const unsigned int policies[] = {
	[OTHER] = SCHED_OTHER, [FIFO] = SCHED_FIFO, [RR] = SCHED_RR,
};

/* What it has, and what it gets, goes to the journal: 0, or -1, said why. */
static int note(const struct run *run, const struct task *task, struct journal *journal)
{
	bool keeps = options.policy == KEEP;
	char *list = cpulist_text(&task->cpus);
	char *text = text_format("%s %u %u %d %u %u", list, task->policy, task->priority,
				 cpulist_next(&run->cpus, -1),
				 keeps ? task->policy : policies[options.policy],
				 keeps ? task->priority : run->priority);
	int error = journal_note(journal, RUN_ATTACH, task->tid, task->start, text);

	free(text);
	free(list);
	return error;
}

/* Its policy and its CPU; false, said why. */
static bool move(const struct run *run, const struct task *task)
{
	struct cpulist one = { .given = true };
	int cpu = cpulist_next(&run->cpus, -1), error;

	cpulist_add(&one, cpu);
	if (options.policy != KEEP &&
	    (error = task_schedule(task, policies[options.policy], run->priority))) {
		error_say("cannot give %s its policy and priority: %s", task->tid,
			  strerror(error));
		return false;
	}
	error = task_set(task, &one);
	if (error)
		error_say("cannot pin %s to CPU %d: %s%s", task->tid, cpu, strerror(error),
			  error == EINVAL ? ": its cpuset does not have that CPU" :
			  error == EBUSY && task->policy == SCHED_DEADLINE ?
			  ": a SCHED_DEADLINE task keeps all CPUs of its cpuset partition: run chrt --other --pid 0 on it first" :
			  "");
	return !error;
}

static const int ends[] = { SIGALRM, SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t ended;

static void end_wait(int signal)
{
	ended = signal;
}

/*
 * Between steps nothing ends the command: what was changed so far is put back first.
 * Signals come only while it waits for the task.
 */
static void allow_signals(bool allowed)
{
	struct sigaction action = { .sa_handler = end_wait }, old;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		/* What the caller wants ignored, as nohup(1) does, stays so. */
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler == SIG_IGN)
			continue;
		sigaction(ends[i], &action, NULL);
		sigaddset(&set, ends[i]);
	}
	sigprocmask(allowed ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

/* A signal or the time ends the wait; the kernel then takes the start back. */
static int start(struct isolate *isolate)
{
	struct itimerval timer = {
		.it_value = { (time_t)(options.wait_ns / SECOND),
			      (suseconds_t)(options.wait_ns % SECOND / 1000) },
		/* Once more: the first one may come too early. */
		.it_interval = { .tv_usec = 100000 },
	}, none = { 0 };
	int error;

	if (!timer.it_value.tv_sec && !timer.it_value.tv_usec)
		timer.it_value.tv_usec = 1;
	setitimer(ITIMER_REAL, &timer, NULL);
	allow_signals(true);
	error = ended ? EINTR : isolate_now(isolate);
	allow_signals(false);
	setitimer(ITIMER_REAL, &none, NULL);
	if (error == EINTR && ended && ended != SIGALRM)
		error_say("ended by a signal, and everything was undone");
	else if (error == EINTR)
		error_say("%d sleeps in the kernel, and can be isolated only when it runs; everything was undone. --wait TIME waits longer",
			  (int)isolate->tid);
	else if (error)
		error_say("CPU %d is not isolated: the kernel refused to isolate %d (%s): %s: %s",
			  isolate->cpu, (int)isolate->tid, isolate->name, strerror(error),
			  device_fix(error));
	return error;
}

static void tell(const struct run *run, const struct task *task, const struct isolate *isolate)
{
	char *list = cpulist_text(&task->cpus);
	struct term_folded folded;
	char time[TERM_TIME];

	term_folded_open(&folded);
	fprintf(folded.stream, "%s (", task->tid);
	term_put(folded.stream, isolate->name);
	fprintf(folded.stream, ") is isolated on CPU %d: each kernel entry is a tick and yields at most %s",
		isolate->cpu, term_time(time, isolate->asked.yield_ns));
	if (isolate->asked.batch_ns)
		fprintf(folded.stream, "; it has a batch period of %s",
			term_time(time, isolate->asked.batch_ns));
	if (run->wish.quarantine)
		fputs("; what other threads unmap waits in a quarantine", folded.stream);
	fprintf(folded.stream, "\nisolator detach %s ends that, and restores its CPUs (%s) and %zu settings\n",
		task->tid, list, run->nr_settings);
	term_folded_close(&folded, stdout);
	free(list);
}

static void put_json(const struct run *run, const struct task *task,
		     const struct isolate *isolate)
{
	struct json json = { .out = stdout };

	json_document(&json, "isolator.attach", SCHEMA_VERSION);
	json_integer(&json, "tid", isolate->tid);
	json_string(&json, "name", isolate->name);
	json_integer(&json, "cpu", isolate->cpu);
	json_number(&json, "achieved", isolate->asked.achieved);
	json_number(&json, "got", isolate->asked.got);
	proc_json_deadline(&json, isolate->asked.deadline_ns);
	json_number(&json, "spin_ns", isolate->asked.spin_ns);
	json_number(&json, "yield_ns", isolate->asked.yield_ns);
	json_number(&json, "batch_ns", isolate->asked.batch_ns);
	json_bool(&json, "quarantine", run->wish.quarantine);
	json_open(&json, "before", '{');
	json_cpus(&json, "cpus", &task->cpus);
	json_number(&json, "policy", task->policy);
	json_number(&json, "priority", task->priority);
	json_close(&json, '}');
	json_open(&json, "settings", '[');
	for (size_t i = 0; i < run->nr_settings; i++)
		if (run->settings[i].change.outcome == OUTCOME_FIXED)
			json_string(&json, NULL, run->settings[i].path);
	json_close(&json, ']');
	json_document_end(&json);
}

/* The whole of it: true, or false, said why, and what was changed is to be put back. */
static bool isolate_task(struct run *run, const struct task *task, const char *name)
{
	struct isolate *isolate;
	bool good;

	if (run_quieten(run))
		return false;
	if (!run->journalled) {
		error_say("without a journal in /run/isolator, detach could not undo anything: %s", error_denied());
		return false;
	}
	run->device = device_open(run->root);
	if (run->device < 0) {
		error_say("%s: %s", DEVICE_PATH, strerror(errno));
		return false;
	}
	isolate = run_start_add(run, run->attached, cpulist_next(&run->cpus, -1), "attach", name);
	isolate->start = text_format("%s", task->start);
	if (!options.lock)
		isolate->asked.flags &= ~ISOLATOR_START_LOCK;
	good = !note(run, task, &run->journal) && move(run, task) && !start(isolate);
	if (good && options.json)
		put_json(run, task, isolate);
	else if (good)
		tell(run, task, isolate);
	return good;
}

/*
 * Closes the journal; what it notes is put back before if nothing came of it: once it is closed
 * another command may undo it, and a third one have its name.
 */
static void settle(struct run *run, bool good)
{
	struct undo undone;

	if (!good && !undo_attach(&undone, run->root, run->journal.fd))
		undo_free(&undone);
	journal_close(&run->journal);
}

static int attach(struct run *run, char **words)
{
	struct task task;
	char *name;
	bool good;

	if (!task_read(&task, run->root, words[0])) {
		error_say("there is no task %s", words[0]);
		return EXIT_ERROR;
	}
	name = task_name(&task);
	run->argv = (char *[]){ name ? name : words[0], NULL };
	allow_signals(false);
	good = !check_task(run, &task) && !run_prepare(run) && isolate_task(run, &task, run->argv[0]);
	if (run->journalled)
		settle(run, good);
	free(name);
	task_free(&task);
	return good ? EXIT_PASS : EXIT_ERROR;
}

static int run_command_attach(int argc, char **argv)
{
	int code = EXIT_ERROR;

	(void)argc;
	if (!check_options(&attach_run, argv[0]))
		code = attach(&attach_run, argv);
	run_free(&attach_run);
	return code;
}

const struct command attach_command = {
	.name = "attach",
	.operands = "TID",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "isolate a running task on a CPU that is made quiet for it",
	.about = "Makes a CPU quiet as isolator run does, pins the task with this TID to it, and isolates it: nothing interrupts it in user mode. Other threads of its process stay where they are. isolator detach undoes all changes, which are noted in /run/isolator; isolator restore does when the task has ended. A kernel with Isolator is required.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator attach 4711 -c 3", "give CPU 3 to the task 4711",
		"sudo isolator detach 4711", "undo all of it",
		"sudo isolator attach 4711 -c 3 --batch 20ms", "for a task that makes no system calls",
		NULL,
	},
	.exits = (const char *const []){
		"0", "the task is isolated",
		"1", "an error, which says what to do about it; nothing was changed",
		NULL,
	},
	.schema = "isolator.attach",
	.json = &options.json,
	.run = run_command_attach,
};
