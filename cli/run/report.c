// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run tells on stderr: what it could not do, what interrupted the CPU, what remains. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/term.h"
#include "base/text.h"
#include "run/run.h"

#define SECOND 1e9
#define VALUE_MAX 60

bool run_remains(const struct audit_finding *finding)
{
	/* What a run gives to its program, whatever the user has. */
	return finding->severity > AUDIT_INFO && !audit_is_unread(finding) &&
		strcmp(finding->check->id, "sched.lock-limit") &&
		strcmp(finding->check->id, "sched.priority-limit");
}

/* @text up to its first line end, and to a length that can be looked at. */
static void put_short(FILE *out, const char *text)
{
	char *trimmed = text_trim(text), *line;
	size_t length = strcspn(trimmed, "\n");

	line = text_format("%.*s", (int)(length > VALUE_MAX ? VALUE_MAX : length), trimmed);
	term_put(out, *line ? line : "(empty)");
	free(line);
	free(trimmed);
}

static void put_settings(FILE *out, const struct run *run)
{
	size_t done = 0;

	for (size_t i = 0; i < run->nr_settings; i++)
		done += run->settings[i].change.outcome == OUTCOME_FIXED;
	fprintf(out, "  settings: %zu of %zu changed, and read back\n", done, run->nr_settings);
	for (size_t i = 0; i < run->nr_settings; i++) {
		const struct change *change = &run->settings[i].change;

		if (change->outcome != OUTCOME_REFUSED && change->outcome != OUTCOME_IGNORED)
			continue;
		fputs("    ", out);
		term_put(out, change->path);
		fprintf(out, change->outcome == OUTCOME_REFUSED ? ": not set to %s: " :
			": did not stick at %s: it is ", change->wanted);
		/* Why, and what helps: all of it. */
		if (change->outcome == OUTCOME_REFUSED)
			term_put(out, change->now);
		else
			put_short(out, change->now);
		fputc('\n', out);
	}
	for (size_t i = 0; i < run->nr_missing; i++) {
		fputs("    ", out);
		term_put(out, run->missing[i].path);
		fprintf(out, ": not there: %s\n", run->missing[i].why);
	}
}

void run_tell_begin(const struct run *run)
{
	char *cpus = cpulist_text(&run->cpus);

	fprintf(stderr, "isolator run: CPU %s, for %s\n", cpus, run->argv[0]);
	free(cpus);
	if (!run->no_settings && run->journalled) {
		put_settings(stderr, run);
		fprintf(stderr, "  threads of the kernel: %u moved away", run->threads_moved);
		if (run->threads_refused)
			fprintf(stderr, ", %u refused", run->threads_refused);
		fputs("\n  cpuset partition: ", stderr);
		put_short(stderr, run->group.isolated ? "isolated, no other task comes to the CPU" :
			  run->group.state ? run->group.state : "none: other tasks stay on the CPU");
		fputc('\n', stderr);
		if (run->latency >= 0)
			fputs("  idle states: /dev/cpu_dma_latency is held open\n", stderr);
	} else {
		fputs("  settings: none is changed\n", stderr);
	}
	run_isolation_begin(stderr, run);
}

static void put_counts(FILE *out, const char *what, const struct interrupts *counts, double seconds)
{
	uint64_t sum = interrupts_sum(counts);

	fprintf(out, "  %s: ", what);
	if (!counts->known) {
		fputs("not known: the file could not be read, or does not have the CPU\n", out);
		return;
	}
	fprintf(out, "%llu", (unsigned long long)sum);
	if (sum && seconds > 0)
		fprintf(out, ", %.1f a second", (double)sum / seconds);
	fputc('\n', out);
	for (size_t i = 0; i < counts->count; i++) {
		const struct interrupt *row = &counts->rows[i];
		bool words = *row->what;

		fprintf(out, "    %8llu  ", (unsigned long long)row->count);
		if (words)
			fprintf(out, "%-13s ", row->class);
		term_put(out, row->label);
		if (words) {
			fputs(", ", out);
			put_short(out, row->what);
		}
		fputc('\n', out);
	}
}

static void put_remains(FILE *out, const struct run *run)
{
	const struct audit_check *before = NULL;

	for (size_t i = 0; i < run->audit.count; i++) {
		const struct audit_finding *finding = &run->audit.findings[i];

		if (!run_remains(finding) || finding->check == before)
			continue;
		if (!before)
			fputs("  what remains:\n", out);
		before = finding->check;
		fprintf(out, "    %s: %s\n      ", finding->check->id, finding->check->why);
		term_put(out, finding->path);
		fputs(": ", out);
		put_short(out, finding->value);
		fputc('\n', out);
		if (*finding->fix) {
			fputs("      fix: ", out);
			term_put(out, finding->fix);
			fputc('\n', out);
		}
	}
}

void run_tell_end(const struct run *run, const struct run_end *end)
{
	double seconds = (double)end->ns / SECOND;
	char *cpus = cpulist_text(&run->cpus);

	fprintf(stderr, "isolator run: CPU %s, %.3f s, ", cpus, seconds);
	free(cpus);
	if (WIFSIGNALED(end->status))
		fprintf(stderr, "ended by signal %d (%s)\n", WTERMSIG(end->status),
			strsignal(WTERMSIG(end->status)));
	else
		fprintf(stderr, "exit status %d\n", WEXITSTATUS(end->status));
	run_isolation_end(stderr, run);
	put_counts(stderr, "interrupts", &end->interrupts, seconds);
	put_counts(stderr, "softirqs", &end->softirqs, seconds);
	fprintf(stderr, "  the program: slept %ld times, was made to wait %ld times; %ld page faults, %ld of them from a disk\n",
		end->usage.ru_nvcsw, end->usage.ru_nivcsw,
		end->usage.ru_minflt + end->usage.ru_majflt, end->usage.ru_majflt);
	if (run->audited)
		put_remains(stderr, run);
}
