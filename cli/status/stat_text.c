// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "proc/culprit.h"
#include "proc/text.h"
#include "status/stat.h"

/* As wide as the words above the numbers. */
static const int widths[COUNTS] = { 8, 8, 7, 8, 6, 7, 7 };

static void put_heads(FILE *out, const struct stat_view *view)
{
	fprintf(out, "%s ", term_style(view->colours, TERM_DIM));
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, " %*s", widths[i], count_names[i]);
	fprintf(out, "  longest%s\n", term_style(view->colours, TERM_PLAIN));
}

/* The numbers of one row; the longest hold only if there was one. */
static void put_row(FILE *out, const struct stat_view *view, char mark,
		    const struct counts *counts, uint64_t longest_ns)
{
	char time[TERM_TIME];

	fputc(mark, out);
	for (int i = 0; i < COUNTS; i++) {
		bool red = i == BREACHED && counts->n[i];

		fprintf(out, " %s%*" PRIu64 "%s",
			term_style(view->colours && red, TERM_RED), widths[i], counts->n[i],
			term_style(view->colours && red, TERM_PLAIN));
	}
	fprintf(out, " %8s  ", longest_ns ? term_time(time, longest_ns) : "-");
}

static void put_totals(FILE *out, const struct stat_view *view, const struct proc_cpu *cpu)
{
	const struct proc_cpu *before = stat_before(view, cpu);
	const struct proc_kind *longest = proc_longest(cpu);
	double seconds = stat_seconds(view);
	struct counts since;

	put_heads(out, view);
	put_row(out, view, ' ', &cpu->total, longest ? longest->longest_ns : 0);
	fputs("total\n", out);
	if (!before)
		return;
	counts_since(&cpu->total, &before->total, &since);
	fputc(' ', out);
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, " %*.1f", widths[i], (double)since.n[i] / seconds);
	fprintf(out, " %8s  per second\n", "");
}

/* Did this row's counts change since the sample before? */
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

static void put_senders(FILE *out, const struct stat_view *view, const struct proc_cpu *cpu)
{
	const struct proc_cpu *before = stat_before(view, cpu);
	struct culprits culprits = { 0 };

	culprits_add(&culprits, cpu, NULL);
	culprits_rank(&culprits);
	for (size_t i = 0; i < culprits.count; i++) {
		const struct culprit *culprit = &culprits.list[i];
		const struct proc_sender *sender = culprit->sender;

		if (view->top && i == view->top) {
			fprintf(out, "  %zu more: --top 0 shows all\n", culprits.count - i);
			break;
		}
		put_row(out, view, mark(sender, before), &culprit->counts, culprit->longest_ns);
		put_label(out, sender);
	}
	culprits_free(&culprits);
}

/* For a kernel that keeps callbacks, but no senders. */
static void put_callbacks(FILE *out, const struct stat_view *view, const struct proc_cpu *cpu)
{
	for (size_t i = 0; i < cpu->nr_callbacks; i++) {
		const struct proc_callback *callback = &cpu->callbacks[i];

		put_row(out, view, ' ', &callback->counts, callback->longest_ns);
		term_put(out, callback->name);
		fputc('\n', out);
	}
}

static void put_longest(FILE *out, const struct proc_cpu *cpu)
{
	const struct proc_sender *sender = stat_longest(cpu);
	const struct proc_kind *kind = proc_longest(cpu);
	char time[TERM_TIME];

	if (!kind)
		return;
	fprintf(out, "  longest hold: %s", term_time(time, kind->longest_ns));
	if (sender) {
		char *deed = culprit_deed(sender->comm, sender->kind, sender->callback);

		fputs(", ", out);
		term_put(out, deed);
		free(deed);
	} else {
		fprintf(out, ", kind %s", kind->name);
	}
	fputc('\n', out);
}

/* Whose it is, and who ticks for it; no line where the kernel does not say it. */
static void put_owner(FILE *out, const struct proc_cpu *cpu)
{
	if (!cpu->isolated || cpu->owner == PROC_UNSAID)
		return;
	if (cpu->owner)
		fprintf(out, "  by thread %d", cpu->owner);
	else
		fputs("  by a thread that is not seen from here", out);
	proc_text_ticks(out, cpu);
	fputc('\n', out);
}

void stat_text_cpu(FILE *out, const struct stat_view *view, const struct proc_cpu *cpu)
{
	proc_text_state(out, cpu, view->colours);
	put_owner(out, cpu);
	put_totals(out, view, cpu);
	if (view->now->names == NAMES_SEEN)
		put_senders(out, view, cpu);
	else
		put_callbacks(out, view, cpu);
	put_longest(out, cpu);
	if (cpu->uncounted)
		fprintf(out, "  %" PRIu64 " requests are not counted by callback: the kernel had no room for more\n",
			cpu->uncounted);
}

/* Why there is nothing to show, and what there was. */
static void put_nothing(FILE *out, const struct stat_view *view)
{
	proc_text_nothing(out, view->now, view->only);
	for (size_t i = 0; i < view->now->nr_cpus && !view->only->given; i++)
		fprintf(out, "CPU %d was isolated, until %s; isolator why --cpu %d tells of it.\n",
			view->now->cpus[i].cpu, proc_text_end(view->now->cpus[i].end),
			view->now->cpus[i].cpu);
}

void stat_text(FILE *out, const struct stat_view *view)
{
	if (!stat_any(view))
		put_nothing(out, view);
	for (size_t i = 0; i < view->now->nr_cpus; i++) {
		const struct proc_cpu *cpu = &view->now->cpus[i];

		/* One that ended is shown to whoever names it; isolator why has it too. */
		if (cpulist_has(view->only, cpu->cpu) && (cpu->isolated || view->only->given))
			stat_text_cpu(out, view, cpu);
	}
	proc_text_names(out, view->now, "stat");
}
