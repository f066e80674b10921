// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of isolator watch, a row at a time. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/term.h"
#include "base/text.h"
#include "journal/store.h"
#include "watch/watch.h"

#define LIST_WIDTH 9	/* of a list of CPUs in a column */
#define CPU_CLASSES 4	/* of a CPU, in its line */
#define MARKS 2		/* columns that say whether it is a hit */
#define GAP 2		/* columns between two of them */
#define NAME_LEAST 24	/* of what a device is called */
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
	char *rest;

	fprintf(out, "%.3g s: ", span->seconds);
	if (cpulist_empty(&interval->guard.cpus)) {
		fprintf(out, "%.1f interrupts a second; no CPU is protected (-c CPUS names some)\n",
			span_rate(span, span->lists[LOOK_INTERRUPTS].came));
		return;
	}
	rest = cpulist_text(&interval->router.audit.rest);
	fprintf(out, "%s%.1f hits a second%s", style(view, hits ? TERM_RED : TERM_PLAIN),
		span_rate(span, hits), style(view, TERM_PLAIN));
	if (worst && hits && interval->span.nr_cpus > 1)
		fprintf(out, ", CPU %d: %.1f", worst->cpu,
			span_rate(span, worst->of[LOOK_INTERRUPTS]));
	fprintf(out, "; protected: %s", interval->router.guarded);
	put_reasons(out, &interval->guard);
	fprintf(out, ", others: %s\n", *rest ? rest : "none");
	free(rest);
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

/* @list as it fits in a column, or how many CPUs there are in it; to be freed. */
static char *short_list(const char *list)
{
	struct cpulist cpus;

	if (!list || strlen(list) <= LIST_WIDTH || !cpulist_read(list, &cpus))
		return text_format("%s", list && *list ? list : "-");
	return text_format("%zu CPUs", cpulist_count(&cpus));
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

/* The columns of interrupts, from left to right, and of softirqs and classes the first of them. */
enum column { HITS, RATE, LABEL, NAME, ON, GOES, SHOULD, CLASS, COLUMNS };

/* How many a page has. */
static const size_t columns_of[WATCH_PAGES] = {
	[WATCH_INTERRUPTS] = COLUMNS, [WATCH_SOFTIRQS] = LABEL + 2, [WATCH_CLASSES] = LABEL + 1,
};

struct cells {
	char *text[COLUMNS];
	bool hit;
};

/* To be freed. */
static char *cleaned(const char *text)
{
	char *copy = text_format("%s", text);

	term_clean(copy);
	return copy;
}

static struct cells cells_of(const struct watch_view *view, enum watch_page page, size_t i)
{
	static const char *const begins[] = {
		[INTERRUPT_GOES_ON] = "", [INTERRUPT_APPEARED] = " (new)",
		[INTERRUPT_ANEW] = " (restarted)",
	};
	const struct span *span = &view->interval->span;
	const struct span_list *list = &span->lists[list_of(page)];
	const struct span_row *row = page == WATCH_CLASSES ? NULL : &list->rows[i];
	size_t order[SPAN_CLASSES];
	uint64_t hits, came;
	struct cells cells;
	char *on;

	if (!row) {
		classes(view->interval, order);
		hits = span->class_hits[order[i]];
		came = span->classes[order[i]];
	} else {
		hits = row->hits;
		came = row->came;
	}
	cells = (struct cells){ .hit = hits };
	cells.text[HITS] = text_format("%.1f", span_rate(span, hits));
	cells.text[RATE] = text_format("%.1f", span_rate(span, came));
	cells.text[LABEL] = text_format("%s%s", row ? row->row->label : interrupt_classes[order[i]],
					row ? begins[row->row->begin] : "");
	if (!row)
		return cells;
	on = list_on(view, list->now, row);
	/* Of a softirq, where an interrupt's name is. */
	cells.text[page == WATCH_SOFTIRQS ? NAME : ON] = short_list(on);
	free(on);
	if (page == WATCH_SOFTIRQS)
		return cells;
	cells.text[NAME] = cleaned(interrupt_name(row->row));
	cells.text[GOES] = short_list(row->route->goes);
	cells.text[SHOULD] = short_list(row->route->should);
	cells.text[CLASS] = text_format("%s", row->row->class);
	return cells;
}

static void free_cells(struct cells *cells)
{
	for (size_t i = 0; i < COLUMNS; i++)
		free(cells->text[i]);
}

/* The widths of columns that @rows from @from on need; 0: the column is not shown. */
static void measure_columns(const struct watch_view *view, enum watch_page page,
			    const char *const *heads, size_t from, size_t rows,
			    unsigned int columns, size_t widths[COLUMNS])
{
	size_t used = MARKS, name;

	for (size_t i = 0; i < columns_of[page]; i++)
		widths[i] = strlen(heads[i]);
	for (size_t i = from; i < from + rows; i++) {
		struct cells cells = cells_of(view, page, i);

		for (size_t k = 0; k < columns_of[page]; k++)
			if (strlen(cells.text[k]) > widths[k])
				widths[k] = strlen(cells.text[k]);
		free_cells(&cells);
	}
	if (page != WATCH_INTERRUPTS)
		return;
	for (size_t i = 0; i < COLUMNS; i++)
		used += i == NAME ? GAP : widths[i] + GAP;
	/* What is at the end goes before a name is cut to something that tells nothing. */
	name = widths[NAME] < NAME_LEAST ? widths[NAME] : NAME_LEAST;
	if (used + name > columns) {
		used -= widths[CLASS] + GAP;
		widths[CLASS] = 0;
	}
	if (used + widths[NAME] > columns)
		widths[NAME] = used + name > columns ? name : columns - used;
}

static void put_cells(FILE *out, const struct watch_view *view, const char *const *text, bool hit,
		      const size_t widths[COLUMNS], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool number = i <= RATE, last = i + 1 == count || !widths[i + 1];

		if (i)
			fputs("  ", out);
		if (i == HITS && hit)
			fputs(style(view, TERM_RED), out);
		if (strlen(text[i]) > widths[i])
			fprintf(out, "%.*s...", (int)widths[i] - 3, text[i]);
		else if (number)
			fprintf(out, "%*s", (int)widths[i], text[i]);
		else
			fprintf(out, "%-*s", last ? 0 : (int)widths[i], text[i]);
		if (i == HITS && hit)
			fputs(style(view, TERM_PLAIN), out);
		if (last)
			break;
	}
	fputc('\n', out);
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
	if (cpu->guarded)
		fputs("protected: ", out);
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
	fputc('\n', out);
}

void watch_put_table(FILE *out, const struct watch_view *view, enum watch_page page,
		     size_t from, size_t rows, const size_t *chosen, unsigned int columns)
{
	static const char *const heads[][COLUMNS] = {
		[WATCH_INTERRUPTS] = { "hits/s", "rate/s", "IRQ", "what", "on", "goes to",
				       "should", "class" },
		[WATCH_SOFTIRQS] = { "hits/s", "rate/s", "softirq", "on" },
		[WATCH_CLASSES] = { "hits/s", "rate/s", "class" },
	};
	static const char cpus[] =
		"   CPU  interrupts/s  softirqs/s  interrupts by class";
	size_t widths[COLUMNS] = { 0 };

	fprintf(out, "%s%s", chosen ? " " : "", style(view, TERM_DIM));
	if (page == WATCH_CPUS) {
		fprintf(out, "%s%s\n", cpus, style(view, TERM_PLAIN));
	} else {
		measure_columns(view, page, heads[page], from, rows, columns - (chosen ? 1 : 0),
				widths);
		fputs("  ", out);
		put_cells(out, view, heads[page], false, widths, columns_of[page]);
		fputs(style(view, TERM_PLAIN), out);
	}
	for (size_t i = from; i < from + rows; i++) {
		struct cells cells;

		if (chosen)
			fputc(i == *chosen ? '>' : ' ', out);
		if (page == WATCH_CPUS) {
			put_cpu(out, view, &view->interval->span.cpus[i]);
			continue;
		}
		cells = cells_of(view, page, i);
		fputs(cells.hit ? "! " : "  ", out);
		put_cells(out, view, (const char *const *)cells.text, cells.hit, widths,
			  columns_of[page]);
		free_cells(&cells);
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
	term_put(out, interrupt_name(row->row));
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
		fprintf(out, "%s  the thread of its handler moves with it: ", indent);
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
	bool shield = !strcmp(file->path, STORE_PATH "/" STORE_SHIELD);

	fputs(shield ? "Cannot see what is shielded: " : "Cannot read ", out);
	term_put(out, file->path);
	fprintf(out, ": %s%s\n", strerror(file->error),
		shield && file->error == EACCES ? "; root can" : "");
}

void watch_put_notes(FILE *out, const struct watch_view *view)
{
	const struct interval *interval = view->interval;
	const struct span *span = &interval->span;
	size_t unread = 0;

	put_cpus(out, &span->since.came, "came online during this interval: its counts are not known");
	put_cpus(out, &span->since.left, "went offline during this interval: its counts are not known");
	put_cpus(out, &span->unseen, "is protected, but its counts are not known");
	if (!span->lists[LOOK_SOFTIRQS].known)
		fprintf(out, "Cannot read softirqs: %s%s: %s\n",
			strcmp(interval->options->root, "/") ? interval->options->root : "", SOFTIRQS_PATH,
			strerror(span->now->errors[LOOK_SOFTIRQS]));
	for (size_t i = 0; i < span->since.nr_gone; i++) {
		fputs(i ? ", " : "Gone, with their last count: ", out);
		term_put(out, span->since.gone[i]);
	}
	if (span->since.nr_gone)
		fputc('\n', out);
	if (interval->guard.unclear)
		fprintf(out, "Cannot parse the boot parameter %s: name its CPUs with -c\n",
			interval->guard.unclear);
	for (size_t i = 0; i < interval->capture.count; i++) {
		const struct capture_file *file = interval->capture.files[i];

		if (interval_unread(file) && unread++ < UNREAD)
			put_unread(out, file);
	}
	if (unread > UNREAD)
		fprintf(out, "Cannot read %zu more files\n", unread - UNREAD);
	if (interval->balancer)
		fputs("irqbalance is running and may override what was set by hand:\n"
		      "  systemctl disable --now irqbalance\n"
		      "  undo: systemctl enable --now irqbalance\n", out);
}
