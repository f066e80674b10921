// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "base/text.h"
#include "proc/ranked.h"
#include "proc/text.h"
#include "status/state.h"

#define COLUMNS 80	/* of a line */
#define REQUESTS 24	/* of them, in front of whose they are */

/* As wide as the words above the numbers. */
static const int widths[COUNTS] = { 8, 8, 6, 6, 9, 7, 7 };

static void put_totals(FILE *out, const struct state_view *view, const struct proc_cpu *cpu)
{
	const char *plain = term_style(view->colours, TERM_PLAIN);
	const struct proc_cpu *before = state_before(view, cpu);
	const struct proc_kind *longest = proc_longest(cpu);
	char time[TERM_TIME];
	struct counts since;

	fprintf(out, "%s ", term_style(view->colours, TERM_DIM));
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, " %*s", widths[i], count_names[i]);
	fprintf(out, "  longest%s\n ", plain);
	for (int i = 0; i < COUNTS; i++) {
		bool red = i == MISSED && cpu->total.n[i];

		fprintf(out, " %s%*" PRIu64 "%s", term_style(view->colours && red, TERM_RED),
			widths[i], cpu->total.n[i], term_style(view->colours && red, TERM_PLAIN));
	}
	fprintf(out, " %8s  total\n", longest && longest->longest_ns ?
		term_time(time, longest->longest_ns) : "-");
	if (!before)
		return;
	counts_since(&cpu->total, &before->total, &since);
	fputc(' ', out);
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, " %*.1f", widths[i], (double)since.n[i] / state_seconds(view));
	fprintf(out, " %8s  per second\n", "");
}

/* What became of requests, up to the name behind it. */
static void put_row(FILE *out, const struct state_view *view, char mark,
		    const struct counts *counts, uint64_t longest_ns)
{
	bool red = view->colours && counts->n[MISSED];
	char *text = proc_text_counts(counts);
	char time[TERM_TIME];

	fprintf(out, "%c %7s  %s%-*s%s  ", mark, longest_ns ? term_time(time, longest_ns) : "-",
		term_style(red, TERM_RED), REQUESTS, text, term_style(red, TERM_PLAIN));
	free(text);
}

/* Did this row's counts change since the state before? */
static char mark(const struct proc_sender *sender, const struct proc_cpu *before)
{
	const struct proc_sender *old = proc_sender(before, sender);

	if (!before)
		return ' ';
	return counts_sum(&sender->counts) != (old ? counts_sum(&old->counts) : 0) ? '+' : ' ';
}

/* "insmod: do_sync_core", or the kind of a request without callback. */
static void put_label(FILE *out, const struct proc_sender *sender)
{
	if (!strcmp(sender->kind, "others")) {
		fputs("(no room to name them)\n", out);
		return;
	}
	term_put(out, *sender->comm ? sender->comm : "(no name)");
	fputs(": ", out);
	term_put(out, sender->callback ? sender->callback : sender->kind);
	fputc('\n', out);
}

static void put_senders(FILE *out, const struct state_view *view, const struct proc_cpu *cpu)
{
	const struct proc_cpu *before = state_before(view, cpu);
	struct ranked_senders ranked = { 0 };

	ranked_add(&ranked, cpu, NULL);
	ranked_rank(&ranked);
	for (size_t i = 0; i < ranked.count; i++) {
		const struct ranked_sender *entry = &ranked.list[i];
		const struct proc_sender *sender = entry->sender;

		if (view->top && i == view->top) {
			fprintf(out, "  %zu more: --top 0 shows all\n", ranked.count - i);
			break;
		}
		put_row(out, view, mark(sender, before), &entry->counts, entry->longest_ns);
		put_label(out, sender);
	}
	ranked_free(&ranked);
}

static void put_longest(FILE *out, const struct proc_cpu *cpu)
{
	const struct proc_sender *sender = state_longest(cpu);
	const struct proc_kind *kind = proc_longest(cpu);
	char time[TERM_TIME];

	if (!kind)
		return;
	fprintf(out, "  longest wait: %s", term_time(time, kind->longest_ns));
	if (sender) {
		char *deed = sender_deed(sender->comm, sender->kind, sender->callback);

		fputs(", ", out);
		term_put(out, deed);
		free(deed);
	} else {
		fputs(", kind ", out);
		term_put(out, kind->name);
	}
	fputc('\n', out);
}

/* The one that the kernel names, with its name if it is seen. */
static void put_holder(FILE *out, const struct holders *holders, const struct proc_cpu *cpu)
{
	const struct holder *holder = holders_of(holders, cpu);

	if (holder) {
		fputs("  by ", out);
		term_put(out, holder->name);
		fprintf(out, " (pid %d, thread %d)", holder->pid, holder->tid);
	} else if (cpu->owner) {
		fprintf(out, "  by thread %d", cpu->owner);
	} else {
		fputs("  by a thread that is not seen from here (run it outside of containers)", out);
	}
}

/* Whose it is, since when, and who ticks for it. */
static void put_owner(FILE *out, const struct state *state, const struct proc_cpu *cpu)
{
	char time[TERM_TIME];

	put_holder(out, &state->holders, cpu);
	if (cpu->started_ns < state->sample.taken_ns)
		fprintf(out, ", for %s",
			term_time(time, state->sample.taken_ns - cpu->started_ns));
	proc_text_ticks(out, cpu);
	fputc('\n', out);
}

void state_text_cpu(FILE *out, const struct state_view *view, const struct proc_cpu *cpu)
{
	proc_text_state(out, cpu, view->colours);
	if (cpu->isolated)
		put_owner(out, view->now, cpu);
	else if (!view->only->given)
		return;	/* who names it wants to see it; isolator why has it too */
	put_totals(out, view, cpu);
	if (view->now->sample.names == NAMES_SEEN)
		put_senders(out, view, cpu);
	put_longest(out, cpu);
	if (cpu->uncounted)
		fprintf(out, "  %" PRIu64 " requests are not counted by callback: the kernel had no room for more\n",
			cpu->uncounted);
}

static void put_limits(FILE *out, const struct limits *limits)
{
	char deadline[TERM_TIME], spin[TERM_TIME];

	if (!limits->text) {
		fprintf(out, "Limits: not known (%s)\n", strerror(limits->error));
		return;
	}
	fprintf(out, "Limits: deadline %s, spin %s; perf ",
		term_time(deadline, limits->deadline_ns), term_time(spin, limits->spin_ns));
	term_put(out, limits->perf);
	fputs(", msr ", out);
	term_put(out, limits->msr);
	fputc('\n', out);
}

static void put_all(FILE *out, const struct state_view *view)
{
	const struct proc_sample *sample = &view->now->sample;

	if (state_any(view)) {
		fputs("May be isolated: ", out);
		term_put(out, *sample->allowed ? sample->allowed : "none");
		fputs("\nIsolated: ", out);
		term_put(out, sample->isolated);
		fputc('\n', out);
	} else {
		proc_text_nothing(out, sample, view->only);
	}
	put_limits(out, &view->now->limits);
	for (size_t i = 0; i < sample->nr_cpus; i++)
		if (cpulist_has(view->only, sample->cpus[i].cpu))
			state_text_cpu(out, view, &sample->cpus[i]);
	if (state_any(view))
		proc_text_names(out, sample, "status");
}

void state_fold(FILE *out, void (*put)(FILE *out, const struct state_view *view),
		const struct state_view *view)
{
	size_t size;
	char *text;
	FILE *whole = text_open(&text, &size);

	put(whole, view);
	fclose(whole);
	term_fold(out, text, COLUMNS, 0);
	free(text);
}

void state_text(FILE *out, const struct state_view *view)
{
	state_fold(out, put_all, view);
}
