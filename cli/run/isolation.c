// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run tells of isolation: who was isolated, who ticked for it, what came of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/term.h"
#include "machine/kernels.h"
#include "proc/ranked.h"
#include "proc/hint.h"
#include "proc/json.h"
#include "proc/text.h"
#include "run/run.h"

#define RANKED_MAX 5
#define FLUSH "flush_tlb_func"	/* of the program's own memory: only its threads ask for it */

static const char *times(uint64_t n)
{
	return n == 1 ? "time" : "times";
}

void run_isolation_begin(FILE *out, const struct run *run)
{
	char time[TERM_TIME];

	if (!run->isolator) {
		char *command, *text = kernels_without(run->root, &command);

		fprintf(out, "  isolation: none: %s\n", text);
		if (command)
			fprintf(out, "    %s\n", command);
		free(command);
		free(text);
		if (isolate_wish_given(&run->wish) || run->nr_threads)
			fputs("  " RUN_WISH_IDLE "\n", out);
		return;
	}
	if (!run->isolate) {
		fputs("  isolation: none, only these settings are applied; a program can call isolator_start(3)\n",
		      out);
		return;
	}
	fputs(run_start_at_exec(run) ? "  isolation: the program, from its first instruction on" :
	      "  isolation: threads that are named, or that pin themselves to one such CPU only",
	      out);
	fprintf(out, "; each kernel entry is a tick and yields at most %s",
		term_time(time, run->wish.yield_ns));
	if (run->wish.batch_ns)
		fprintf(out, "; a batch period of %s", term_time(time, run->wish.batch_ns));
	if (run->wish.quarantine)
		fputs("; what other threads unmap waits in a quarantine", out);
	fputc('\n', out);
}

/* Is this sender a thread of the isolated program itself? */
static bool sibling(const struct proc_sender *sender)
{
	return sender->callback &&
		!strncmp(sender->callback, FLUSH, strcspn(sender->callback, ". ["));
}

/* Who made the ticks of a CPU, and how many. */
struct tickers {
	uint64_t preload;	/* on all CPUs: the library does not tell them apart */
	uint64_t entries;	/* kernel entries made for something else */
	uint64_t program;	/* ticks that it asked for itself */
};

static struct tickers tickers_of(const struct run *run, const struct proc_own *own)
{
	struct tickers by = { 0 };
	uint64_t entries = own->entries_known ? own->entries : 0, rest;

	run_preload_ticks(run, &by.preload);
	/* What was counted just now may stand in one of the counts only. */
	rest = own->ticks > entries + by.preload ? own->ticks - entries - by.preload : 0;
	/* An older kernel does not tell what the program asked for from its kernel entries. */
	by.entries = own->entries_known ? entries : rest;
	by.program = own->entries_known ? rest : 0;
	return by;
}

static void put_ticker(FILE *out, const char **begun, const char *who, uint64_t ticks)
{
	if (!ticks)
		return;
	fprintf(out, "%s%s, %" PRIu64 " %s", *begun, who, ticks, times(ticks));
	*begun = "; ";
}

static void put_ticks(FILE *out, const struct run *run, const struct proc_cpu *cpu)
{
	const struct proc_own *own = &cpu->own;
	struct tickers by = tickers_of(run, own);
	const char *begun = "";
	char time[TERM_TIME];
	uint64_t preloaded;

	if (!run_preload_ticks(run, &preloaded) && run->preload_counts)
		fputs("    the preload library was not loaded: the program is static, or the linker did not find it\n",
		      out);
	fputs("    ticked by: ", out);
	put_ticker(out, &begun, "the preload library", by.preload);
	put_ticker(out, &begun, "its own calls of isolator_tick(3)", by.program);
	put_ticker(out, &begun, "its own kernel entries", by.entries);
	if (own->ticks)
		fprintf(out, " (the CPU was yielded %" PRIu64 " %s)", own->yields, times(own->yields));
	if (run->wish.batch_ns || own->planned) {
		fprintf(out, "%sthe batches%s%s, %" PRIu64 " planned %s", begun,
			run->wish.batch_ns ? " of " : "",
			run->wish.batch_ns ? term_time(time, run->wish.batch_ns) : "", own->planned,
			own->planned == 1 ? "interruption" : "interruptions");
		begun = "; ";
	}
	if (!*begun)
		fputs(cpu->total.n[MISSED] ?
		      "nobody: it entered the kernel too rarely; --preload ticks in more calls, and with --batch the kernel delivers what is due as planned" :
		      "nobody, and nothing that waited reached its deadline", out);
	fputc('\n', out);
}

static void put_counts(FILE *out, const struct proc_cpu *cpu)
{
	const char *begun = "    ";

	for (int i = 0; i < COUNTS; i++) {
		if (!cpu->total.n[i])
			continue;
		fprintf(out, "%s%s %" PRIu64, begun, count_names[i], cpu->total.n[i]);
		begun = ", ";
	}
	fputs(*begun == ' ' ? "    nobody asked for it\n" : "\n", out);
}

static void put_senders_ranked(FILE *out, const struct run *run, const struct proc_cpu *cpu)
{
	struct ranked_senders ranked = { 0 };
	size_t told;

	ranked_add(&ranked, cpu, NULL);
	ranked_rank(&ranked);
	told = ranked.count < RANKED_MAX ? ranked.count : RANKED_MAX;
	for (size_t i = 0; i < told; i++) {
		const struct proc_sender *sender = ranked.list[i].sender;
		char *words = sender_words(&ranked.list[i]);

		fputs("      ", out);
		term_put(out, words);
		fprintf(out, "%s\n        %s\n",
			sibling(sender) ? ", a thread of the program itself" : "",
			hint(sender->kind, sender->callback));
		free(words);
	}
	if (told < ranked.count)
		fprintf(out, "      %zu more: isolator why\n", ranked.count - told);
	if (run->sample.names == NAMES_DENIED)
		fputs("      only root may see the names\n", out);
	ranked_free(&ranked);
}

/* What has interrupted it, other than as planned; the last that the kernel remembers. */
static void put_deliveries(FILE *out, const struct proc_cpu *cpu)
{
	size_t first = cpu->nr_deliveries > RANKED_MAX ? cpu->nr_deliveries - RANKED_MAX : 0;
	char time[TERM_TIME];

	for (size_t i = first; i < cpu->nr_deliveries; i++) {
		const struct proc_delivery *delivery = &cpu->deliveries[i];
		char *deed = sender_deed(delivery->named ? delivery->comm : "a task", delivery->kind,
					 delivery->callback);

		fprintf(out, "    %s, waited %s: ", delivery->immediate ? "immediate" : "deadline miss",
			term_time(time, delivery->waited_ns));
		term_put(out, deed);
		fputc('\n', out);
		free(deed);
	}
}

/* The task that had the CPU last; NULL: none was asked for. */
static const struct isolate *task_of(const struct run *run, int cpu)
{
	const struct isolate *found = NULL;

	for (size_t i = 0; i < run->nr_tasks; i++)
		if (run->tasks[i]->cpu == cpu)
			found = run->tasks[i];
	return found;
}

void run_isolation_cpu(FILE *out, const struct run *run, int number)
{
	const struct proc_cpu *cpu = run_start_cpu(run, number);
	const struct isolate *task = task_of(run, number);

	fprintf(out, "  isolation of CPU %d: ", number);
	if (task) {
		fprintf(out, "thread %d (", (int)task->tid);
		term_put(out, task->name);
		fputs("), ", out);
	}
	if (!cpu) {
		fputs(!task ? "no thread was named for it or pinned itself to it only\n" :
		      task->state == ISOLATE_REFUSED ? "refused, see above\n" :
		      "it ended before it began\n", out);
		return;
	}
	term_put(out, cpu->isolated ? "it lasts" : proc_text_end(cpu->end));
	fputc('\n', out);
	put_ticks(out, run, cpu);
	put_counts(out, cpu);
	put_senders_ranked(out, run, cpu);
	put_deliveries(out, cpu);
}

void run_isolation_end(FILE *out, const struct run *run)
{
	if (!run->isolate)
		return;
	if (!run->sampled) {
		fputs("  isolation: the counts of the kernel are not readable\n", out);
		return;
	}
	for (int cpu = -1; (cpu = cpulist_next(&run->cpus, cpu)) >= 0;)
		run_isolation_cpu(out, run, cpu);
}

void run_isolation_brief(FILE *out, const struct run *run)
{
	uint64_t missed = 0, immediate = 0, planned = 0, away = 0;
	const struct proc_delivery *last = NULL;
	char time[TERM_TIME];

	if (!run->isolate)
		return;
	for (int number = -1; (number = cpulist_next(&run->cpus, number)) >= 0;) {
		const struct proc_cpu *cpu = run_start_cpu(run, number);

		if (!run->sampled || !cpu) {
			fprintf(out, "CPU %d was not isolated, -v says why; ", number);
			continue;
		}
		missed += cpu->total.n[MISSED];
		immediate += cpu->total.n[IMMEDIATE];
		planned += cpu->total.n[PLANNED];
		away += cpu->total.n[DEFERRED] + cpu->total.n[EXCLUDED] + cpu->total.n[QUEUED];
		if (cpu->nr_deliveries)
			last = &cpu->deliveries[cpu->nr_deliveries - 1];
		if (!cpu->isolated) {
			fprintf(out, "CPU %d: ", number);
			term_put(out, proc_text_end(cpu->end));
			fputs("; ", out);
		}
	}
	fprintf(out, "%" PRIu64 " deadline misses, ", missed);
	if (last) {
		char *deed = sender_deed(last->named ? last->comm : "a task", last->kind,
					 last->callback);

		fputs("the last: ", out);
		term_put(out, deed);
		fprintf(out, ", waited %s; ", term_time(time, last->waited_ns));
		free(deed);
	}
	fprintf(out, "%" PRIu64 " immediate, %" PRIu64 " planned; %" PRIu64 " requests kept away; ",
		immediate, planned, away);
}

static void json_ranked(struct json *json, const struct proc_cpu *cpu)
{
	struct ranked_senders ranked = { 0 };

	ranked_add(&ranked, cpu, NULL);
	ranked_rank(&ranked);
	json_open(json, "senders", '[');
	for (size_t i = 0; i < ranked.count; i++) {
		const struct ranked_sender *entry = &ranked.list[i];

		json_open(json, NULL, '{');
		json_string(json, "callback", entry->sender->callback);
		json_string(json, "kind", entry->sender->kind);
		json_string(json, "comm", entry->sender->comm);
		json_bool(json, "sibling", sibling(entry->sender));
		proc_json_counts(json, "counts", &entry->counts);
		json_number(json, "longest_ns", entry->longest_ns);
		json_string(json, "hint", hint(entry->sender->kind, entry->sender->callback));
		json_close(json, '}');
	}
	json_close(json, ']');
	ranked_free(&ranked);
}

static void json_deliveries(struct json *json, const struct proc_cpu *cpu)
{
	json_open(json, "deliveries", '[');
	for (size_t i = 0; i < cpu->nr_deliveries; i++) {
		const struct proc_delivery *delivery = &cpu->deliveries[i];

		json_open(json, NULL, '{');
		json_string(json, "type", delivery->immediate ? "immediate" : "deadline-miss");
		json_string(json, "kind", delivery->kind);
		json_number(json, "at_ns", delivery->at_ns);
		json_number(json, "waited_ns", delivery->waited_ns);
		json_string(json, "callback", delivery->callback);
		json_string(json, "comm", delivery->comm);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void run_isolation_json_cpu(struct json *json, const struct run *run, int number)
{
	const struct proc_cpu *cpu = run_start_cpu(run, number);
	struct proc_own own = { 0 };
	struct tickers by = { 0 };

	if (cpu) {
		own = cpu->own;
		by = tickers_of(run, &own);
	}
	json_open(json, NULL, '{');
	json_integer(json, "cpu", number);
	json_string(json, "state", !cpu ? "never" : cpu->isolated ? "isolated" : "ended");
	json_string(json, "end", cpu ? cpu->end : NULL);
	json_number_if(json, "ticks", own.known, own.ticks);
	json_number_if(json, "yields", own.known, own.yields);
	json_number_if(json, "planned", own.known, own.planned);
	json_number_if(json, "entries", own.entries_known, own.entries);
	json_open(json, "ticked_by", '[');
	if (by.preload)
		json_string(json, NULL, "preload");
	if (by.program)
		json_string(json, NULL, "program");
	if (by.entries)
		json_string(json, NULL, "entries");
	if (own.planned)
		json_string(json, NULL, "batch");
	json_close(json, ']');
	if (cpu) {
		proc_json_counts(json, "counts", &cpu->total);
		json_ranked(json, cpu);
		json_deliveries(json, cpu);
	} else {
		json_null(json, "counts");
		json_null(json, "senders");
		json_null(json, "deliveries");
	}
	json_close(json, '}');
}

static void json_task(struct json *json, const struct isolate *task)
{
	static const char *const states[] = {
		[ISOLATE_ASKED] = "unknown",
		[ISOLATE_ON] = "isolated",
		[ISOLATE_REFUSED] = "refused",
		[ISOLATE_GONE] = "gone",
	};
	bool on = task->state == ISOLATE_ON && task->asked.achieved;

	json_open(json, NULL, '{');
	json_integer(json, "tid", task->tid);
	json_string(json, "name", task->name);
	json_integer(json, "cpu", task->cpu);
	json_string(json, "found", task->found);
	json_string(json, "state", states[task->state]);
	json_string(json, "error", task->state == ISOLATE_REFUSED ? strerror(task->error) : NULL);
	json_number_if(json, "achieved", on, task->asked.achieved);
	json_number_if(json, "got", on, task->asked.got);
	json_close(json, '}');
}

void run_isolation_json(struct json *json, const struct run *run)
{
	uint64_t preloaded;
	bool loaded;

	if (!run->isolate) {
		json_null(json, "isolation");
		return;
	}
	json_open(json, "isolation", '{');
	json_bool(json, "at_exec", run_start_at_exec(run));
	json_number(json, "spin_ns", run->wish.spin_ns);
	json_number(json, "yield_ns", run->wish.yield_ns);
	json_number(json, "batch_ns", run->wish.batch_ns);
	json_bool(json, "quarantine", run->wish.quarantine);
	proc_json_deadline(json, run->wish.deadline_ns);
	json_bool(json, "counted", run->sampled);
	loaded = run_preload_ticks(run, &preloaded);
	if (run->preload_counts) {
		json_open(json, "preload", '{');
		json_bool(json, "loaded", loaded);
		json_number(json, "ticks", preloaded);
		json_close(json, '}');
	} else {
		json_null(json, "preload");
	}
	json_open(json, "tasks", '[');
	for (size_t i = 0; i < run->nr_tasks; i++)
		json_task(json, run->tasks[i]);
	json_close(json, ']');
	json_number(json, "tasks_dropped", run->tasks_dropped);
	json_open(json, "cpus", '[');
	for (int cpu = -1; (cpu = cpulist_next(&run->cpus, cpu)) >= 0;)
		run_isolation_json_cpu(json, run, cpu);
	json_close(json, ']');
	json_close(json, '}');
}
