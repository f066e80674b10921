// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator detach: ends what isolator attach began, and tells what came of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/term.h"
#include "journal/undo.h"
#include "machine/task.h"
#include "options/command.h"
#include "proc/device.h"
#include "run/run.h"

#define SCHEMA_VERSION 1

static struct {
	bool json;
	const char *root;
} options = {
	.root = "/",
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.detach, version 1)",
	  .to.flag = &options.json },
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &options.root },
	{ 0 },
};

/* That of the task @tid; NULL: it was not attached. */
static const struct undo_journal *find(const struct undo *undo, const char *tid)
{
	for (size_t i = 0; i < undo->count; i++)
		if (undo->journals[i].pid && !strcmp(undo->journals[i].pid, tid))
			return &undo->journals[i];
	return NULL;
}

/* Isolated by something else, there is nothing to give back: 0, or the exit code. */
static int stop(const char *tid)
{
	int fd = device_open(options.root);
	int error = fd < 0 ? errno : device_stop(fd, (pid_t)strtol(tid, NULL, 10));
	bool none = fd < 0 && error == ENOENT;

	if (fd >= 0)
		close(fd);
	if (none)
		return error_say("%s was not attached, and this kernel has no Isolator", tid);
	if (error == ESRCH || error == ENOENT)
		return error_say("%s was not attached, and is not isolated: isolator status shows what is",
				 tid);
	if (error)
		return error_say("%s: %s: %s", tid, strerror(error), device_fix(error));
	fprintf(stderr, "isolator detach: %s was not attached, but isolated by itself or another program: its isolation has ended, and there is nothing else to restore\n",
		tid);
	return EXIT_PASS;
}

static void put_json(const struct run *run, const struct undo_journal *journal)
{
	struct json json = { .out = stdout };

	json_document(&json, "isolator.detach", SCHEMA_VERSION);
	json_integer(&json, "tid", strtol(journal->pid, NULL, 10));
	json_string(&json, "name", journal->program);
	json_bool(&json, "restored", journal->state != UNDO_STAYS);
	json_number(&json, "waiting", journal->waiting);
	if (run->sampled) {
		json_open(&json, "cpus", '[');
		for (int cpu = -1; (cpu = cpulist_next(&run->cpus, cpu)) >= 0;)
			run_isolation_json_cpu(&json, run, cpu);
		json_close(&json, ']');
	} else {
		json_null(&json, "cpus");
	}
	json_document_end(&json);
}

static void put_text(const struct run *run, const struct undo_journal *journal)
{
	struct term_folded folded;

	term_folded_open(&folded);
	fprintf(folded.stream, "%s (", journal->pid);
	term_put(folded.stream, journal->program);
	fputs(") runs as before\n", folded.stream);
	if (journal->waiting)
		fprintf(folded.stream, "  a run still needs %u settings and restores them when it ends\n",
			journal->waiting);
	for (int cpu = -1; run->sampled && (cpu = cpulist_next(&run->cpus, cpu)) >= 0;)
		run_isolation_cpu(folded.stream, run, cpu);
	term_folded_close(&folded, stdout);
}

/* What the kernel has counted of the journal's CPUs. */
static void sample(struct run *run, const struct undo_journal *journal)
{
	cpulist_read(journal->cpus, &run->cpus);
	run->sampled = !proc_read_below(run->root, true, &run->sample);
}

static int detach(int argc, char **argv)
{
	struct run run = { .root = options.root, .device = -1, .latency = -1, .isolate = true };
	const struct undo_journal *journal;
	int code = EXIT_PASS;
	struct undo undo;

	(void)argc;
	if (task_check_tid(argv[0]))
		return EXIT_ERROR;
	if (undo_attached(&undo, options.root, argv[0]))
		return EXIT_ERROR;
	journal = find(&undo, argv[0]);
	if (!journal) {
		code = stop(argv[0]);
	} else if (journal->state == UNDO_ALIVE) {
		code = error_say("%s is being attached just now, or is the PID of an isolator run: end that", argv[0]);
	} else {
		sample(&run, journal);
		if (options.json)
			put_json(&run, journal);
		else
			put_text(&run, journal);
		code = journal->state == UNDO_STAYS ? EXIT_ERROR : EXIT_PASS;
	}
	undo_free(&undo);
	run_free(&run);
	return code;
}

const struct command detach_command = {
	.name = "detach",
	.operands = "TID",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "end what attach began, and report what came to the CPU",
	.about = "Ends the isolation of the task with this TID, gives it back the CPUs and the policy that it had before isolator attach, restores each setting that was changed for it, and reports what its ticks came from (its own calls, kernel entries, the preload library) and which senders asked for its CPU.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator detach 4711", "let the task go on as before",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done",
		"1", "an error, or something could not be restored; the message says what to do",
		NULL,
	},
	.run = detach,
};
