// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/isolator.h>

#include "array.h"
#include "culprit.h"
#include "proc_text.h"
#include "stat.h"
#include "term.h"

/* As wide as the words above the numbers. */
static const int widths[COUNTS] = { 8, 8, 7, 8, 6, 7 };

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

/* What the start asked for and did not get. */
static void put_shortfall(FILE *out, const struct proc_cpu *cpu)
{
	static const struct {
		uint64_t bit;
		const char *text;
	} got[] = {
		{ ISOLATOR_GOT_WATCHDOG, "lockup detectors still look here" },
		{ ISOLATOR_GOT_TIMEKEEPER, "this CPU keeps the time" },
		{ ISOLATOR_GOT_TASKS, "other tasks stay here" },
		{ ISOLATOR_GOT_IRQS, "device interrupts stay here" },
		{ ISOLATOR_GOT_MM, "others touch the task's memory" },
		{ ISOLATOR_GOT_LOCKED, "the task's memory is not all locked" },
		{ ISOLATOR_GOT_RCU, "RCU callbacks stay here" },
	}, masks[] = {
		{ ISOLATOR_MASK_CLOCK, "clock" },
		{ ISOLATOR_MASK_RESCHED, "reschedules" },
		{ ISOLATOR_MASK_IPI, "calls from other CPUs" },
	};
	const char *before = "  not kept away: ";

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		if (cpu->mask & masks[i].bit)
			continue;
		fprintf(out, "%s%s", before, masks[i].text);
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
	before = "  start fell short: ";
	for (size_t i = 0; i < ARRAY_SIZE(got); i++) {
		if (cpu->got & got[i].bit)
			continue;
		fprintf(out, "%s%s", before, got[i].text);
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

static void put_cpu(FILE *out, const struct stat_view *view, const struct proc_cpu *cpu)
{
	const char *bold = term_style(view->colours, TERM_BOLD);
	const char *plain = term_style(view->colours, TERM_PLAIN);
	char deadline[TERM_TIME], spin[TERM_TIME], lend[TERM_TIME];

	if (cpu->isolated) {
		fprintf(out, "%sCPU %d%s: isolated, in %s; deadline %s, spin %s, lend %s\n",
			bold, cpu->cpu, plain, cpu->user ? "user mode" : "the kernel",
			cpu->deadline_ns == PROC_NEVER ? "never" :
			term_time(deadline, cpu->deadline_ns),
			term_time(spin, cpu->spin_ns), term_time(lend, cpu->lend_ns));
		put_shortfall(out, cpu);
	} else {
		fprintf(out, "%sCPU %d%s: not isolated any more: %s\n", bold, cpu->cpu, plain,
			proc_text_end(cpu->end));
	}
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
			put_cpu(out, view, cpu);
	}
	proc_text_names(out, view->now, "stat");
}
