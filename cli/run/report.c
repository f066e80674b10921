// SPDX-License-Identifier: GPL-2.0-or-later
/* What a run reports: what it could not do, what interrupted the CPU, what remains. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/term.h"
#include "base/text.h"
#include "run/run.h"

#define SECOND 1e9
#define RATE_SECONDS 0.1	/* of a shorter run a rate would only say how short it was */
/* Of a brief report, five in all. */
#define BEGIN_LINES 3
#define END_LINES 2
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
			": not set to %s: it is still ", change->wanted);
		/* Why, and what helps: all of it. */
		if (change->outcome == OUTCOME_REFUSED)
			term_put(out, change->now);
		else
			audit_put_value(out, change->now);
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
		fprintf(out, ": %s: %s\n", run->missing[i].locked ? "not changed" : "not there",
			run->missing[i].why);
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

/* Is the limit of real-time tasks off for this run? */
static bool is_unlimited(const struct run *run)
{
	for (size_t i = 0; i < run->nr_settings; i++)
		if (!strcmp(run->settings[i].id, "sched.rt-throttling") &&
		    run->settings[i].change.outcome == OUTCOME_FIXED)
			return true;
	return false;
}

static void put_throttle(FILE *out, const struct run *run)
{
	if (is_unlimited(run))
		fputs("  real-time limit off for all CPUs and users: a FIFO task that never sleeps can hang its CPU\n",
		      out);
}

static void put_begin(FILE *out, const struct run *run)
{
	if (run->journalled) {
		put_settings(out, run);
		fprintf(out, "  threads of the kernel: %u moved away", run->threads_moved);
		if (run->threads_refused)
			fprintf(out, ", %u refused", run->threads_refused);
		fputc('\n', out);
		put_partition(out, run);
		if (run->latency >= 0)
			fputs("  idle states: /dev/cpu_dma_latency is held open\n", out);
	} else {
		fputs("  settings: none is changed\n", out);
	}
	put_throttle(out, run);
	run_isolation_begin(out, run);
}

/* The first lines of @text, as wide as the terminal. */
static void put_lines(const struct term_folded *folded, FILE *out, unsigned int lines)
{
	struct term_folded whole;
	unsigned int columns = term_columns(out);

	term_folded_open(&whole);
	term_fold(whole.stream, folded->text, columns, TERM_HANG);
	fclose(whole.stream);
	term_cut(out, whole.text, lines + 1, columns, "");
	free(whole.text);
}

/* What could not be done, what matters most first. */
static void put_problems(FILE *out, const struct run *run)
{
	/* What was asked for, and there is no kernel for it, is no detail. */
	if (!run->isolator && (isolate_wish_given(&run->wish) || run->nr_threads))
		fputs("  this kernel has no Isolator: " RUN_WISH_IDLE "\n", out);
	if (!run->journalled)
		return;
	put_throttle(out, run);
	put_refused(out, run);
	if (!run->group.isolated)
		put_partition(out, run);
}

static void put_brief_begin(FILE *out, const struct run *run)
{
	const char *program = strrchr(run->argv[0], '/');

	fputs(", for ", out);
	term_put(out, program ? program + 1 : run->argv[0]);
	if (run->journalled)
		fprintf(out, ": %zu of %zu settings, %u threads moved%s",
			settings_done(run), run->nr_settings, run->threads_moved,
			run->group.isolated ? ", in a partition" : "");
	fprintf(out, "%s\n", run->isolate ? ", isolated" : !run->isolator ?
		", without Isolator" : ", not isolated");
	put_problems(out, run);
}

/* In its own cgroup the program is out of reach of those that it would have been in. */
static void put_left(const struct run *run)
{
	struct term_folded folded;

	if (!run->group.left)
		return;
	term_folded_open(&folded);
	fprintf(folded.stream, "isolator run: warning: in %s the program is not held by ",
		run->group.path);
	term_put(folded.stream, run->group.left);
	fputs("; set such limits there, or leave it where it is by --no-settings\n",
	      folded.stream);
	term_folded_close(&folded, stderr);
}

static void tell_begin(const struct run *run)
{
	char *cpus = cpulist_text(&run->cpus);
	struct term_folded folded;

	term_folded_open(&folded);
	fprintf(folded.stream, "isolator run: CPU %s", cpus);
	free(cpus);
	if (run->verbose) {
		fputs(", for ", folded.stream);
		term_put(folded.stream, run->argv[0]);
		fputc('\n', folded.stream);
		put_begin(folded.stream, run);
		term_folded_close(&folded, stderr);
		return;
	}
	put_brief_begin(folded.stream, run);
	fclose(folded.stream);
	put_lines(&folded, stderr, BEGIN_LINES);
	free(folded.text);
}

void run_tell_begin(const struct run *run)
{
	tell_begin(run);
	put_left(run);
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
	if (sum && seconds >= RATE_SECONDS)
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
			audit_put_value(out, interrupt_name(row));
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
		audit_put_value(out, finding->value);
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

	if (!counts->known) {
		fprintf(out, ", %ss not known", what);
		return;
	}
	fprintf(out, ", %llu %s%s", (unsigned long long)sum, what, sum == 1 ? "" : "s");
	if (sum && seconds >= RATE_SECONDS)
		fprintf(out, " (%.1f/s)", (double)sum / seconds);
}

static void put_brief(FILE *out, const struct run *run, const struct run_end *end, double seconds)
{
	unsigned int remains = 0;
	char *cpus = cpulist_text(&run->cpus);

	put_sum(out, "interrupt", &end->since.lists[LOOK_INTERRUPTS], seconds);
	put_sum(out, "softirq", &end->since.lists[LOOK_SOFTIRQS], seconds);
	fputs("\n  ", out);
	run_isolation_brief(out, run);
	for (const struct audit_finding *one = NULL; (one = next_remaining(run, one));)
		remains++;
	if (remains)
		fprintf(out, "%u finding%s of isolator audit -c %s remain%s; run -v lists them\n",
			remains, remains == 1 ? "" : "s", cpus, remains == 1 ? "s" : "");
	else
		fprintf(out, "isolator audit -c %s finds nothing\n", cpus);
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
	struct term_folded folded;

	term_folded_open(&folded);
	fprintf(folded.stream, "isolator run: CPU %s, %.3f s, ", cpus, seconds);
	free(cpus);
	if (WIFSIGNALED(end->status))
		fprintf(folded.stream, "ended by signal %d (%s)", WTERMSIG(end->status),
			strsignal(WTERMSIG(end->status)));
	else
		fprintf(folded.stream, "exit status %d", WEXITSTATUS(end->status));
	if (full) {
		put_full(folded.stream, run, end, seconds);
		term_folded_close(&folded, out);
		return;
	}
	put_brief(folded.stream, run, end, seconds);
	fclose(folded.stream);
	put_lines(&folded, out, END_LINES);
	free(folded.text);
}
