// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator restore: undoes what commands that have ended, or were killed, left changed. */
#include <stdio.h>
#include <stdlib.h>

#include "audit/boot.h"
#include "base/error.h"
#include "base/json.h"
#include "base/term.h"
#include "journal/undo.h"
#include "options/command.h"

#define SCHEMA_VERSION 1

static struct {
	bool json;
	bool force, runs;
	const char *root;
} options = {
	.root = "/",
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	{ "force", 0, OPTION_FLAG, NULL, "also undo what runs that still go on have changed",
	  .to.flag = &options.force },
	{ "runs", 0, OPTION_FLAG, NULL, "undo only what ended runs and attached tasks left; keep audit --fix and the shield",
	  .to.flag = &options.runs },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.restore, version 1)",
	  .to.flag = &options.json },
	{ "root", 0, OPTION_FILE, "DIR", NULL, .to.text = &options.root },
	{ "update-grub", 0, OPTION_FILE, "PROGRAM", NULL, .to.text = &boot_updater },
	{ 0 },
};

static void put_json(FILE *out, const struct undo *undo)
{
	static const char *const states[] = {
		[UNDO_DONE] = "restored",
		[UNDO_STAYS] = "failed",
		[UNDO_WAITS] = "waiting",
		[UNDO_ALIVE] = "alive",
	};
	struct json json = { .out = out };

	json_document(&json, "isolator.restore", SCHEMA_VERSION);
	json_open(&json, "journals", '[');
	for (size_t i = 0; i < undo->count; i++) {
		const struct undo_journal *journal = &undo->journals[i];

		json_open(&json, NULL, '{');
		json_string(&json, "path", journal->path);
		if (journal->pid)
			json_integer(&json, "pid", strtol(journal->pid, NULL, 10));
		else
			json_null(&json, "pid");
		json_string(&json, "cpus", journal->cpus);
		json_string(&json, "program", journal->program);
		json_string(&json, "state", states[journal->state]);
		json_number(&json, "restored", journal->restored);
		json_number(&json, "failed", journal->failed);
		json_number(&json, "waiting", journal->waiting);
		json_number(&json, "moved", journal->moved);
		json_number(&json, "kept", journal->kept);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_open(&json, "failures", '[');
	for (size_t i = 0; i < undo->failed; i++) {
		json_open(&json, NULL, '{');
		json_string(&json, "path", undo->failures[i].path);
		json_string(&json, "should", undo->failures[i].should);
		json_string(&json, "why", undo->failures[i].why);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_document_end(&json);
}

static void put_whose(FILE *out, const struct undo_journal *journal)
{
	if (!journal->pid && !journal->cpus && journal->program) {
		fprintf(out, "%s, from the next boot on", journal->program);
		return;
	}
	if (!journal->pid && journal->program) {
		fprintf(out, "%s, CPU %s", journal->program, journal->cpus);
		return;
	}
	if (!journal->pid) {
		fputs("isolator audit --fix", out);
		return;
	}
	fputs("PID ", out);
	term_put(out, journal->pid);
	fputs(", CPU ", out);
	term_put(out, journal->cpus);
	fputs(", ", out);
	term_put(out, journal->program);
}

static void put_all(FILE *out, const struct undo *undo)
{
	if (!undo->count)
		fputs("Nothing to restore.\n", out);
	for (size_t i = 0; i < undo->count; i++) {
		const struct undo_journal *journal = &undo->journals[i];

		fprintf(out, "%s (", journal->path);
		put_whose(out, journal);
		fputs("): ", out);
		if (journal->state == UNDO_ALIVE) {
			fputs("still running; it restores its changes when it ends, and --force does so now\n",
			      out);
			continue;
		}
		fprintf(out, "%u restored", journal->restored);
		if (journal->moved)
			fprintf(out, ", %u processes moved back to where it began", journal->moved);
		if (journal->kept)
			fprintf(out, ", %u left as somebody has set them since", journal->kept);
		if (journal->waiting)
			fprintf(out, ", a run still needs %u of them", journal->waiting);
		if (journal->failed)
			fprintf(out, ", %u failed and still noted: fix what the messages above name and restore again, or remove the journal",
				journal->failed);
		fputc('\n', out);
	}
}

static void put_text(FILE *out, const struct undo *undo)
{
	struct term_folded folded;

	term_folded_open(&folded);
	put_all(folded.stream, undo);
	term_folded_close(&folded, out);
}

static int run(int argc, char **argv)
{
	struct undo undo;
	bool failed = false;

	(void)argc;
	(void)argv;
	if (options.force && options.runs)
		return error_say("--force and --runs: give at most one of them");
	if (undo_journals(&undo, options.root, options.force ? UNDO_ALL :
			  options.runs ? UNDO_RUNS : UNDO_ENDED))
		return EXIT_ERROR;
	for (size_t i = 0; i < undo.count; i++)
		failed |= undo.journals[i].state == UNDO_STAYS;
	if (options.json)
		put_json(stdout, &undo);
	else
		put_text(stdout, &undo);
	undo_free(&undo);
	return failed ? EXIT_ERROR : EXIT_PASS;
}

const struct command restore_command = {
	.name = "restore",
	.summary = "undo what audit --fix, shield or a killed run left changed",
	.about = "Restores what audit --fix and shield have changed, and what a killed run could not restore: each setting, cgroup and affinity that a journal in /run/isolator notes, the last change first. Then it checks that the values hold. It also undoes what audit --fix --boot has written for the next boot (noted in /var/lib/isolator). A run that still goes on is left alone.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator restore", "undo everything",
		"sudo isolator restore --force", "also undo what a run that still goes on has changed",
		NULL,
	},
	.exits = (const char *const []){
		"0", "all is restored, or there was nothing to restore",
		"1", "an error, or something could not be restored; the message says what to do",
		NULL,
	},
	.run = run,
};
