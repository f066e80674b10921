// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator watch on a whole screen: one table, and what helps against one row of it. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/term.h"
#include "base/text.h"
#include "watch/watch.h"

/* Lines that are no row of the table: a head of three, its own, a note, and the last one. */
#define AROUND 6

static const char *const pages[] = {
	[WATCH_INTERRUPTS] = "interrupts",
	[WATCH_SOFTIRQS] = "softirqs",
	[WATCH_CLASSES] = "classes",
	[WATCH_CPUS] = "CPUs",
};

/* What the row @i of the page is called, to be freed. */
static char *label(const struct watch_view *view, size_t i)
{
	const struct span *span = &view->interval->span;

	if (view->page == WATCH_CPUS)
		return text_format("%d", span->cpus[i].cpu);
	if (view->page == WATCH_CLASSES)
		return text_format("%zu", i);
	return text_format("%s", span->lists[view->page == WATCH_SOFTIRQS ? LOOK_SOFTIRQS :
					     LOOK_INTERRUPTS].rows[i].row->label);
}

/* Which row is chosen; the first if that is gone. */
static size_t selected(const struct watch_view *view)
{
	size_t count = watch_rows(view->interval, view->page);

	for (size_t i = 0; view->selected && i < count; i++) {
		char *one = label(view, i);
		bool same = !strcmp(one, view->selected);

		free(one);
		if (same)
			return i;
	}
	return 0;
}

void watch_move(struct watch_view *view, int steps)
{
	size_t count = view->interval ? watch_rows(view->interval, view->page) : 0, at;

	if (!count)
		return;
	at = selected(view);
	if (steps < 0)
		at = at < (size_t)-steps ? 0 : at - (size_t)-steps;
	else
		at = at + (size_t)steps < count ? at + (size_t)steps : count - 1;
	free(view->selected);
	view->selected = label(view, at);
}

static void put_head(FILE *out, const struct watch_view *view)
{
	struct utsname kernel = { 0 };

	uname(&kernel);
	fprintf(out, "%sisolator watch%s  %s  %s%s\n", term_style(view->colours, TERM_BOLD),
		term_style(view->colours, TERM_PLAIN), kernel.release, pages[view->page],
		view->paused ? "  PAUSED" : "");
	fprintf(out, "%sq quit, p pause, up/down row; i interrupts, s softirqs, l classes, c CPUs%s\n",
		term_style(view->colours, TERM_DIM), term_style(view->colours, TERM_PLAIN));
}

static void put_table(FILE *out, const struct watch_view *view, unsigned int lines,
		      unsigned int columns)
{
	size_t count = watch_rows(view->interval, view->page), chosen = selected(view);
	size_t from = chosen >= lines ? chosen - lines + 1 : 0;

	watch_put_table(out, view, view->page, from, count - from < lines ? count - from : lines,
			&chosen, columns);
	if (!count)
		fputs("  nothing came\n", out);
}

/* Of the chosen row; how many lines it takes. */
static unsigned int put_advice(FILE *out, const struct watch_view *view, unsigned int columns)
{
	const struct interval *interval = view->interval;
	enum look_list list = view->page == WATCH_SOFTIRQS ? LOOK_SOFTIRQS : LOOK_INTERRUPTS;
	size_t chosen = selected(view), size;
	unsigned int lines;
	char *text;
	FILE *advice;

	if (view->page > WATCH_SOFTIRQS || chosen >= watch_rows(interval, view->page))
		return 0;
	advice = text_open(&text, &size);
	watch_put_advice(advice, view, &interval->span.lists[list].rows[chosen], "  ");
	fclose(advice);
	lines = term_fold(out, text, columns, TERM_HANG);
	free(text);
	return lines;
}

void watch_screen(FILE *out, const struct watch_view *view, unsigned int rows,
		  unsigned int columns)
{
	unsigned int around = AROUND;

	put_head(out, view);
	if (!view->interval) {
		fputs("The first interval has not ended yet.\n", out);
		return;
	}
	watch_put_head(out, view);
	around += put_advice(out, view, columns);
	put_table(out, view, rows > around ? rows - around : 1, columns);
	watch_put_notes(out, view);
}
