// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run reports: what it could not do, what interrupted the CPU, what remains. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/term.h"
#include "base/text.h"
#include "run/run.h"

#define SECOND 1e9
#define VALUE_MAX 60
#define NO_PARTITION \
	"none: other tasks stay on the CPU; isolator shield set --processes helps"

bool run_remains(const struct audit_finding *finding)
{
	/* What a run gives to its program, whatever the user has. */
	return finding->severity > AUDIT_INFO && !audit_is_unread(finding) &&
		strcmp(finding->check->id, "sched.lock-limit") &&
		strcmp(finding->check->id, "sched.priority-limit");
}

/* The finding behind @before (NULL: the first) that remains, one a check; NULL: no more. */
static const struct audit_finding *next_remaining(const struct run *run,
						  const struct audit_finding *before)
{
	const struct audit_finding *end, *at;

	if (!run->audited)
		return NULL;
	end = run->audit.findings + run->audit.count;
	for (at = before ? before + 1 : run->audit.findings; at < end; at++)
		if (run_remains(at) && (!before || at->check != before->check))
			return at;
	return NULL;
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

static size_t settings_done(const struct run *run)
{
	size_t done = 0;

	for (size_t i = 0; i < run->nr_settings; i++)
		done += run->settings[i].change.outcome == OUTCOME_FIXED;
	return done;
}

/* Settings that could not be changed, and why. */
static void put_refused(FILE *out, const struct run *run)
{
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
}

static void put_settings(FILE *out, const struct run *run)
{
	fprintf(out, "  settings: %zu of %zu changed, and read back\n", settings_done(run),
		run->nr_settings);
	put_refused(out, run);
	for (size_t i = 0; i < run->nr_missing; i++) {
		fputs("    ", out);
		term_put(out, run->missing[i].path);
		fprintf(out, ": not there: %s\n", run->missing[i].why);
	}
}

/* Whether other tasks stay away, or all of why they do not. */
static void put_partition(FILE *out, const struct run *run)
{
	fputs("  cpuset partition: ", out);
	term_put(out, run->group.isolated ? "isolated, no other task comes to the CPU" :
		 run->group.state ? run->group.state : NO_PARTITION);
	fputc('\n', out);
}

static void put_begin(const struct run *run)
{
	if (run->journalled) {
		put_settings(stderr, run);
		fprintf(stderr, "  threads of the kernel: %u moved away", run->threads_moved);
		if (run->threads_refused)
			fprintf(stderr, ", %u refused", run->threads_refused);
		fputc('\n', stderr);
		put_partition(stderr, run);
		if (run->latency >= 0)
			fputs("  idle states: /dev/cpu_dma_latency is held open\n", stderr);
	} else {
		fputs("  settings: none is changed\n", stderr);
	}
	run_isolation_begin(stderr, run);
}

void run_tell_begin(const struct run *run)
{
	char *cpus = cpulist_text(&run->cpus);

	fprintf(stderr, "isolator run: CPU %s, for %s", cpus, run->argv[0]);
	free(cpus);
	if (run->verbose) {
		fputc('\n', stderr);
		put_begin(run);
		return;
	}
	if (run->journalled)
		fprintf(stderr, ": %zu of %zu settings, %u threads moved%s",
			settings_done(run), run->nr_settings, run->threads_moved,
			run->group.isolated ? ", in a partition" : "");
	fprintf(stderr, "%s\n", run->isolate ? ", isolated" : !run->isolator ?
		", without Isolator" : ", not isolated");
	/* What was asked for, and there is no kernel for it, is no detail. */
	if (!run->isolator && (isolate_wish_given(&run->wish) || run->nr_threads))
		run_isolation_begin(stderr, run);
	if (!run->journalled)
		return;
	put_refused(stderr, run);
	if (!run->group.isolated)
		put_partition(stderr, run);
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

		if (!row->count)
			continue;
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
	const struct audit_finding *finding = next_remaining(run, NULL);

	if (finding)
		fputs("  what remains:\n", out);
	for (; finding; finding = next_remaining(run, finding)) {
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

static void put_sum(FILE *out, const char *what, const struct interrupts *counts, double seconds)
{
	uint64_t sum = interrupts_sum(counts);

	if (!counts->known)
		fprintf(out, ", %s not known", what);
	else if (sum && seconds > 0)
		fprintf(out, ", %llu %s (%.1f/s)", (unsigned long long)sum, what,
			(double)sum / seconds);
	else
		fprintf(out, ", %llu %s", (unsigned long long)sum, what);
}

static void put_brief(FILE *out, const struct run *run, const struct run_end *end, double seconds)
{
	unsigned int remains = 0;
	char *cpus;

	put_sum(out, "interrupts", &end->since.lists[LOOK_INTERRUPTS], seconds);
	put_sum(out, "softirqs", &end->since.lists[LOOK_SOFTIRQS], seconds);
	fputc('\n', out);
	run_isolation_brief(out, run);
	for (const struct audit_finding *one = NULL; (one = next_remaining(run, one));)
		remains++;
	if (!remains)
		return;
	cpus = cpulist_text(&run->cpus);
	fprintf(out, "  %u finding%s of isolator audit -c %s remain%s; run -v lists them\n", remains,
		remains == 1 ? "" : "s", cpus, remains == 1 ? "s" : "");
	free(cpus);
}

static void put_full(FILE *out, const struct run *run, const struct run_end *end, double seconds)
{
	fputc('\n', out);
	run_isolation_end(out, run);
	put_counts(out, "interrupts", &end->since.lists[LOOK_INTERRUPTS], seconds);
	put_counts(out, "softirqs", &end->since.lists[LOOK_SOFTIRQS], seconds);
	fprintf(out, "  the program: %ld voluntary and %ld involuntary context switches, %ld page faults, %ld of them major\n",
		end->usage.ru_nvcsw, end->usage.ru_nivcsw,
		end->usage.ru_minflt + end->usage.ru_majflt, end->usage.ru_majflt);
	put_remains(out, run);
}

void run_tell_end(FILE *out, const struct run *run, const struct run_end *end, bool full)
{
	double seconds = (double)end->ns / SECOND;
	char *cpus = cpulist_text(&run->cpus);

	fprintf(out, "isolator run: CPU %s, %.3f s, ", cpus, seconds);
	free(cpus);
	if (WIFSIGNALED(end->status))
		fprintf(out, "ended by signal %d (%s)", WTERMSIG(end->status),
			strsignal(WTERMSIG(end->status)));
	else
		fprintf(out, "exit status %d", WEXITSTATUS(end->status));
	if (full)
		put_full(out, run, end, seconds);
	else
		put_brief(out, run, end, seconds);
}
