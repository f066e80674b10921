// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of isolator watch, a row at a time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/term.h"
#include "base/text.h"
#include "watch/watch.h"

#define LIST_WIDTH 9	/* of a list of CPUs in a column */
#define CPU_CLASSES 4	/* of a CPU, in its line */
#define UNREAD 5	/* files that are named; a container may hide thousands */

static const char *style(const struct watch_view *view, enum term_style one)
{
	return term_style(view->colours, one);
}

/* Who says that CPUs are to be left alone. */
static void put_reasons(FILE *out, const struct guard *guard)
{
	const char *comma = " (";

	for (size_t i = 0; i < GUARD_REASONS; i++) {
		if (cpulist_empty(&guard->of[i]))
			continue;
		fprintf(out, "%s%s", comma, guard_reasons[i]);
		comma = ", ";
	}
	fputs(")", out);
}

void watch_put_head(FILE *out, const struct watch_view *view)
{
	const struct interval *interval = view->interval;
	const struct span *span = &interval->span;
	const struct span_cpu *worst = span_worst(span);
	uint64_t hits = span->lists[LOOK_INTERRUPTS].hits;
	char *rest = cpulist_text(&interval->router.audit.rest);

	fprintf(out, "%.3g s: ", span->seconds);
	if (cpulist_empty(&interval->guard.cpus)) {
		fprintf(out, "%.1f interrupts a second; no CPU is protected: -c CPUS names those that must be\n",
			span_rate(span, span->lists[LOOK_INTERRUPTS].came));
		free(rest);
		return;
	}
	fprintf(out, "protected %s", interval->router.guarded);
	put_reasons(out, &interval->guard);
	fprintf(out, ", for everything else %s; %s%.1f hits a second%s", *rest ? rest : "none",
		style(view, hits ? TERM_RED : TERM_PLAIN), span_rate(span, hits),
		style(view, TERM_PLAIN));
	if (worst && hits)
		fprintf(out, ", CPU %d most: %.1f", worst->cpu,
			span_rate(span, worst->of[LOOK_INTERRUPTS]));
	fputc('\n', out);
	free(rest);
}

void watch_put_heads(FILE *out, const struct watch_view *view, enum watch_page page)
{
	static const char *const heads[] = {
		[WATCH_INTERRUPTS] = "    hits/s     rate/s  interrupt  class         on        goes to   should    what",
		[WATCH_SOFTIRQS] = "    hits/s     rate/s  softirq    on",
		[WATCH_CLASSES] = "    hits/s     rate/s  class",
		[WATCH_CPUS] = "   CPU  interrupts/s  softirqs/s  interrupts by class",
	};

	fprintf(out, "%s%s%s\n", style(view, TERM_DIM), heads[page], style(view, TERM_PLAIN));
}

/* The classes of interrupts that came; which of them the n-th is, in the order of hits. */
static size_t classes(const struct interval *interval, size_t order[SPAN_CLASSES])
{
	const struct span *span = &interval->span;
	size_t count = 0;

	for (size_t i = 0; i < SPAN_CLASSES; i++) {
		size_t at = count;

		if (!span->classes[i] && !interval->options->all)
			continue;
		for (; at && (span->class_hits[i] > span->class_hits[order[at - 1]] ||
			      (span->class_hits[i] == span->class_hits[order[at - 1]] &&
			       span->classes[i] > span->classes[order[at - 1]])); at--)
			order[at] = order[at - 1];
		order[at] = i;
		count++;
	}
	return count;
}

static enum look_list list_of(enum watch_page page)
{
	return page == WATCH_SOFTIRQS ? LOOK_SOFTIRQS : LOOK_INTERRUPTS;
}

size_t watch_rows(const struct interval *interval, enum watch_page page)
{
	const struct span_list *list = &interval->span.lists[list_of(page)];
	size_t order[SPAN_CLASSES], count = 0;

	if (page == WATCH_CLASSES)
		return classes(interval, order);
	if (page == WATCH_CPUS)
		return interval->span.nr_cpus;
	/* Those of which something came are first. */
	while (count < list->count && interval_shows(interval, &list->rows[count]))
		count++;
	return count;
}

static void put_rates(FILE *out, const struct watch_view *view, uint64_t hits, uint64_t came)
{
	const struct span *span = &view->interval->span;

	fprintf(out, "%s%c%9.1f%s %10.1f  ", style(view, hits ? TERM_RED : TERM_PLAIN),
		hits ? '!' : ' ', span_rate(span, hits), style(view, TERM_PLAIN),
		span_rate(span, came));
}

/* @list as it fits in a column, or how many CPUs there are in it; to be freed. */
static char *short_list(const char *list)
{
	struct cpulist cpus;
	int count = 0;

	if (!list || strlen(list) <= LIST_WIDTH || !cpulist_read(list, &cpus))
		return text_format("%s", list && *list ? list : "-");
	for (int cpu = -1; (cpu = cpulist_next(&cpus, cpu)) >= 0;)
		count++;
	return text_format("%d CPUs", count);
}

static void put_list(FILE *out, const char *list)
{
	char *text = short_list(list);

	fprintf(out, "%-*s ", LIST_WIDTH, text);
	free(text);
}

/* The guarded CPUs that it came to; all if it came to none of these.  To be freed. */
static char *list_on(const struct watch_view *view, const struct interrupts *now,
		     const struct span_row *row)
{
	struct cpulist cpus = { .given = true };

	for (size_t i = 0; row->came && i < now->columns; i++)
		if (row->row->of[i] && (!row->hits ||
				   cpulist_has(&view->interval->guard.cpus, now->cpus[i])))
			cpulist_add(&cpus, now->cpus[i]);
	return cpulist_text(&cpus);
}

static void put_interrupt(FILE *out, const struct watch_view *view, enum look_list which,
			  const struct span_row *row)
{
	static const char *const begins[] = {
		[INTERRUPT_GOES_ON] = "", [INTERRUPT_APPEARED] = " (new)",
		[INTERRUPT_ANEW] = " (began anew)",
	};
	const struct route *route = row->route;
	char *on = list_on(view, view->interval->span.lists[which].now, row);

	put_rates(out, view, row->hits, row->came);
	if (which == LOOK_INTERRUPTS) {
		fprintf(out, "%-10s %-13s ", row->row->label, row->row->class);
		put_list(out, on);
		put_list(out, route->goes);
		put_list(out, route->should);
		term_put(out, row->row->what);
	} else {
		char *list = short_list(on);

		fprintf(out, "%-10s %s", row->row->label, list);
		free(list);
	}
	fprintf(out, "%s\n", begins[row->row->begin]);
	free(on);
}

static void put_cpu(FILE *out, const struct watch_view *view, const struct span_cpu *cpu)
{
	const struct span *span = &view->interval->span;
	bool red = cpu->guarded && cpu->of[LOOK_INTERRUPTS];
	bool shown[SPAN_CLASSES] = { false };

	fprintf(out, "%s%c %4d%s %13.1f ", style(view, red ? TERM_RED : TERM_PLAIN),
		red ? '!' : ' ', cpu->cpu, style(view, TERM_PLAIN),
		span_rate(span, cpu->of[LOOK_INTERRUPTS]));
	if (span->lists[LOOK_SOFTIRQS].known)
		fprintf(out, "%11.1f  ", span_rate(span, cpu->of[LOOK_SOFTIRQS]));
	else
		fprintf(out, "%11s  ", "-");
	for (size_t n = 0; n < CPU_CLASSES; n++) {
		size_t most = SPAN_CLASSES;

		for (size_t i = 0; i < SPAN_CLASSES; i++)
			if (!shown[i] && cpu->classes[i] &&
			    (most == SPAN_CLASSES || cpu->classes[i] > cpu->classes[most]))
				most = i;
		if (most == SPAN_CLASSES)
			break;
		shown[most] = true;
		fprintf(out, "%s%s %.1f", n ? ", " : "", interrupt_classes[most],
			span_rate(span, cpu->classes[most]));
	}
	fprintf(out, "%s\n", cpu->guarded ? "  (protected)" : "");
}

void watch_put_row(FILE *out, const struct watch_view *view, enum watch_page page, size_t i)
{
	const struct span *span = &view->interval->span;
	size_t order[SPAN_CLASSES];

	switch (page) {
	case WATCH_CPUS:
		put_cpu(out, view, &span->cpus[i]);
		break;
	case WATCH_CLASSES:
		classes(view->interval, order);
		put_rates(out, view, span->class_hits[order[i]], span->classes[order[i]]);
		fprintf(out, "%s\n", interrupt_classes[order[i]]);
		break;
	default:
		put_interrupt(out, view, list_of(page), &span->lists[list_of(page)].rows[i]);
	}
}

void watch_put_advice(FILE *out, const struct watch_view *view, const struct span_row *row,
		      const char *indent)
{
	const struct route *route = row->route;

	if (!route->why)
		return;
	fprintf(out, "%s%s%s%s%s", indent, style(view, TERM_BOLD), row->row->label,
		style(view, TERM_PLAIN), *row->row->what ? " (" : "");
	term_put(out, row->row->what);
	fprintf(out, "%s: ", *row->row->what ? ")" : "");
	term_put(out, route->why);
	fprintf(out, "\n%s  ", indent);
	term_put(out, route->fix);
	if (route->undo) {
		fprintf(out, "\n%s  undo: ", indent);
		term_put(out, route->undo);
	}
	fputc('\n', out);
	if (route->thread.number && route->reach != IRQ_ELSEWHERE) {
		fprintf(out, "%s  its handler's thread goes with it: ", indent);
		term_put(out, route->thread.name);
		fprintf(out, " (%s)\n", route->thread.tid);
	}
}

static void put_cpus(FILE *out, const struct cpulist *cpus, const char *words)
{
	char *text = cpulist_text(cpus);

	if (*text)
		fprintf(out, "CPU %s %s\n", text, words);
	free(text);
}

static void put_unread(FILE *out, const struct capture_file *file)
{
	fputs("Not read: ", out);
	term_put(out, file->path);
	fprintf(out, ": %s\n", strerror(file->error));
}

void watch_put_notes(FILE *out, const struct watch_view *view)
{
	const struct interval *interval = view->interval;
	const struct span *span = &interval->span;
	size_t unread = 0;

	put_cpus(out, &span->since.came, "came online: what came there is not known");
	put_cpus(out, &span->since.left, "went offline: what came there is not known");
	put_cpus(out, &span->unseen, "is protected, and was not seen");
	if (!span->lists[LOOK_SOFTIRQS].known)
		fprintf(out, "Softirqs are not known: %s%s: %s\n",
			strcmp(interval->options->root, "/") ? interval->options->root : "", SOFTIRQS_PATH,
			strerror(span->now->errors[LOOK_SOFTIRQS]));
	for (size_t i = 0; i < span->since.nr_gone; i++) {
		fputs(i ? ", " : "Gone, with what came of them last: ", out);
		term_put(out, span->since.gone[i]);
	}
	if (span->since.nr_gone)
		fputc('\n', out);
	if (interval->guard.unclear)
		fprintf(out, "Not understood: the boot parameter %s; -c CPUS names its CPUs\n",
			interval->guard.unclear);
	for (size_t i = 0; i < interval->capture.count; i++) {
		const struct capture_file *file = interval->capture.files[i];

		if (interval_unread(file) && unread++ < UNREAD)
			put_unread(out, file);
	}
	if (unread > UNREAD)
		fprintf(out, "Not read: %zu more\n", unread - UNREAD);
	if (interval->balancer)
		fputs("irqbalance runs, and may move interrupts again whatever was set by hand: systemctl disable --now irqbalance; undo: systemctl enable --now irqbalance\n",
		      out);
}
