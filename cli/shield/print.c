// SPDX-License-Identifier: GPL-2.0-or-later
/* A shield as text and as JSON: its masks, what is against them, and what was done. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/term.h"
#include "shield/shield.h"

#define SCHEMA_VERSION 1

const char *const shield_names[SHIELD_KINDS] = { "processes", "interrupts", "timers" };

static void put_list(FILE *out, const struct cpulist *cpus)
{
	char *text = cpulist_text(cpus);

	fputs(*text ? text : "none", out);
	free(text);
}

/* What undo has put back, or left; NULL: it did not come to that. */
static const struct undo_journal *journal_of(const struct undo *undo)
{
	for (size_t i = 0; undo && i < undo->count; i++)
		if (!undo->journals[i].pid && undo->journals[i].program)
			return &undo->journals[i];
	return NULL;
}

static void put_done(FILE *out, const struct shield_done *done)
{
	fprintf(out, "changed: %u task%s, %u file%s\n", done->tasks, done->tasks == 1 ? "" : "s",
		done->files, done->files == 1 ? "" : "s");
	for (size_t i = 0; i < done->nr_refused; i++) {
		const struct shield_refusal *refused = &done->refused[i];

		fputs("  ", out);
		term_put(out, refused->path);
		fprintf(out, ": not set to \"%s\": ", refused->wanted);
		term_put(out, refused->why);
		fputc('\n', out);
	}
	if (done->more_refused)
		fputs("  and others; isolator shield show names them\n", out);
}

static void put_undone(FILE *out, const struct undo *undo)
{
	const struct undo_journal *journal = journal_of(undo);

	if (!journal)
		return;
	fprintf(out, "restored: %u", journal->restored);
	if (journal->kept)
		fprintf(out, "; %u left as somebody has set them since", journal->kept);
	if (journal->waiting)
		fprintf(out, "; a run still needs %u of them: clear again when it has ended",
			journal->waiting);
	if (journal->failed)
		fprintf(out, "; %u failed and still noted: fix what the messages above name, then clear again",
			journal->failed);
	fputc('\n', out);
}

static void put_processes(FILE *out, const struct shield_look *look)
{
	fprintf(out, "processes: %u task%s chose shielded CPUs only; %u kernel thread%s cannot leave them\n",
		look->inside, look->inside == 1 ? "" : "s", look->bound,
		look->bound == 1 ? "" : "s");
	for (size_t i = 0; i < look->nr_tasks; i++) {
		const struct shield_task *task = &look->tasks[i];

		fprintf(out, "  %s (", task->tid);
		term_put(out, task->name);
		fprintf(out, "%s) may run on %s\n", task->kernel ? ", kernel thread" : "",
			task->cpus);
	}
}

static void put_files(FILE *out, const struct shield_look *look)
{
	for (size_t i = 0; i < look->nr_files; i++) {
		const struct shield_file *file = &look->files[i];

		fputs("  ", out);
		term_put(out, file->path);
		if (*file->what) {
			fputs(" (", out);
			term_put(out, file->what);
			fputc(')', out);
		}
		fputs(": ", out);
		term_put(out, file->cpus);
		fputs(file->fixed ? ", fixed by its driver or by the hardware\n" :
		      "\n", out);
	}
}

/* What a shield from local timers does not reach. */
static void put_timers(FILE *out, const struct shield_look *look)
{
	struct cpulist ticking = look->masks.of[SHIELD_TIMERS];

	cpulist_minus(&ticking, &look->tickless);
	if (cpulist_empty(&ticking))
		return;
	fputs("the tick still interrupts CPU ", out);
	put_list(out, &ticking);
	fputs(look->isolator ?
	      ", except while a task is isolated there (isolator run, isolator attach)\n" :
	      look->never_tickless ? ": boot a kernel with CONFIG_NO_HZ_FULL=y\n" :
	      ": boot with nohz_full= for these CPUs\n", out);
}

static void put_all(FILE *out, const struct shield_look *look, const struct shield_done *done,
		    const struct undo *undo)
{
	struct cpulist any = shield_masks_any(&look->masks);

	if (done)
		put_done(out, done);
	put_undone(out, undo);
	if (cpulist_empty(&any)) {
		fputs("No CPU is shielded.\n", out);
		return;
	}
	fputs("shielded from", out);
	for (size_t i = 0; i < SHIELD_KINDS; i++) {
		fprintf(out, "%s %s: ", i ? ";" : "", shield_names[i]);
		put_list(out, &look->masks.of[i]);
	}
	fputc('\n', out);
	if (!cpulist_empty(&look->masks.of[SHIELD_PROCESSES]))
		put_processes(out, look);
	if (look->nr_files)
		fputs("files that name shielded CPUs as well as others:\n", out);
	put_files(out, look);
	put_timers(out, look);
	if (look->balancer && !cpulist_empty(&look->masks.of[SHIELD_INTERRUPTS]))
		fprintf(out, "%s is running and may move interrupts to any CPU: see isolator audit\n",
			look->balancer);
	if (shield_look_wrong(look))
		fputs("Some tasks or interrupts may use shielded CPUs again: isolator shield set moves them away\n",
		      out);
}

void shield_text(FILE *out, const struct shield_look *look, const struct shield_done *done,
		 const struct undo *undo)
{
	struct term_folded folded;

	term_folded_open(&folded);
	put_all(folded.stream, look, done, undo);
	term_folded_close(&folded, out);
}

static void json_done(struct json *json, const struct shield_done *done)
{
	if (!done) {
		json_null(json, "changed");
		return;
	}
	json_open(json, "changed", '{');
	json_number(json, "tasks", done->tasks);
	json_number(json, "files", done->files);
	json_open(json, "refused", '[');
	for (size_t i = 0; i < done->nr_refused; i++) {
		json_open(json, NULL, '{');
		json_string(json, "path", done->refused[i].path);
		json_string(json, "wanted", done->refused[i].wanted);
		json_string(json, "why", done->refused[i].why);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void json_undone(struct json *json, const struct undo *undo)
{
	const struct undo_journal *journal = journal_of(undo);

	if (!journal) {
		json_null(json, "cleared");
		return;
	}
	json_open(json, "cleared", '{');
	json_number(json, "restored", journal->restored);
	json_number(json, "kept", journal->kept);
	json_number(json, "failed", journal->failed);
	json_number(json, "waiting", journal->waiting);
	json_close(json, '}');
}

static void json_tasks(struct json *json, const struct shield_look *look)
{
	json_open(json, "tasks", '{');
	json_number(json, "inside", look->inside);
	json_number(json, "bound", look->bound);
	json_open(json, "wrong", '[');
	for (size_t i = 0; i < look->nr_tasks; i++) {
		const struct shield_task *task = &look->tasks[i];

		json_open(json, NULL, '{');
		json_integer(json, "tid", strtol(task->tid, NULL, 10));
		json_string(json, "name", task->name);
		json_bool(json, "kernel", task->kernel);
		json_string(json, "cpus", task->cpus);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

void shield_json(FILE *out, const struct shield_look *look, const struct shield_done *done,
		 const struct undo *undo)
{
	struct cpulist ticking = look->masks.of[SHIELD_TIMERS];
	struct json json = { .out = out };

	cpulist_minus(&ticking, &look->tickless);
	json_document(&json, "isolator.shield", SCHEMA_VERSION);
	json_cpus(&json, "online", &look->online);
	for (size_t i = 0; i < SHIELD_KINDS; i++)
		json_cpus(&json, shield_names[i], &look->masks.of[i]);
	json_done(&json, done);
	json_undone(&json, undo);
	json_tasks(&json, look);
	json_open(&json, "files", '[');
	for (size_t i = 0; i < look->nr_files; i++) {
		const struct shield_file *file = &look->files[i];

		json_open(&json, NULL, '{');
		json_string(&json, "path", file->path);
		json_string(&json, "what", *file->what ? file->what : NULL);
		json_string(&json, "value", file->cpus);
		json_bool(&json, "fixed", file->fixed);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_cpus(&json, "ticking", &ticking);
	json_bool(&json, "isolator", look->isolator);
	json_string(&json, "balancer", look->balancer);
	json_document_end(&json);
}
