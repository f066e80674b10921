/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolator watch shows of one interval. */
#ifndef WATCH_H
#define WATCH_H

#include <stdio.h>

#include "watch/interval.h"

enum watch_page { WATCH_INTERRUPTS, WATCH_SOFTIRQS, WATCH_CLASSES, WATCH_CPUS, WATCH_PAGES };

struct watch_view {
	struct interval *interval;	/* NULL: the first interval has not ended yet */
	bool colours;
	bool paused;
	enum watch_page page;
	char *selected;		/* the row that is explained: its label; NULL: the first */
};

/* Plain lines: all tables and all that helps. */
void watch_text(FILE *out, const struct watch_view *view);

/* screen.c: a page of @rows lines of @columns, with what helps against one row. */
void watch_screen(FILE *out, const struct watch_view *view, unsigned int rows,
		  unsigned int columns);

/* The view's choice moves by @steps rows of its page. */
void watch_move(struct watch_view *view, int steps);

void watch_json(FILE *out, struct interval *interval);

/* table.c: what plain lines and the screen have in common. */

/* How much hit the protected CPUs, and which they are. */
void watch_put_head(FILE *out, const struct watch_view *view);

/* How many rows the table of @page has. */
size_t watch_rows(const struct interval *interval, enum watch_page page);

/*
 * Its head, and @rows of them from @from on, the first is 0, in lines of at most @columns;
 * @chosen is marked, NULL: none is to be chosen.
 */
void watch_put_table(FILE *out, const struct watch_view *view, enum watch_page page,
		     size_t from, size_t rows, const size_t *chosen, unsigned int columns);

/* Why it comes, what helps and what undoes that; nothing if there is nothing to say. */
void watch_put_advice(FILE *out, const struct watch_view *view, const struct span_row *row,
		      const char *indent);

/* What else is to be known: CPUs that came and went, files that cannot be read. */
void watch_put_notes(FILE *out, const struct watch_view *view);

#endif
