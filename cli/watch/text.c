// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator watch in plain lines. */
#include <inttypes.h>

#include "base/term.h"
#include "watch/watch.h"

static void put_page(FILE *out, const struct watch_view *view, enum watch_page page,
		     unsigned int columns)
{
	size_t count = watch_rows(view->interval, page), most = view->interval->options->top;

	if (!count)
		return;
	watch_put_table(out, view, page, 0, most && most < count ? most : count, NULL, columns);
	if (most && count > most)
		fprintf(out, "  %zu more: --top 0 shows all\n", count - most);
}

/* What helps, of the rows that were shown. */
static void put_advice(FILE *out, const struct watch_view *view, enum watch_page page,
		       const char **title)
{
	const struct interval *interval = view->interval;
	const struct span_row *rows =
		interval->span.lists[page == WATCH_SOFTIRQS ? LOOK_SOFTIRQS : LOOK_INTERRUPTS].rows;
	size_t count = watch_rows(interval, page), most = interval->options->top;

	for (size_t i = 0; i < count && (!most || i < most); i++) {
		if (!rows[i].route->why)
			continue;
		fputs(*title, out);
		*title = "";
		watch_put_advice(out, view, &rows[i], "  ");
	}
}

static void put_verdict(FILE *out, const struct interval *interval)
{
	static const char *const words[] = {
		[SPAN_PASS] = "not exceeded",
		[SPAN_EXCEEDED] = "exceeded",
		[SPAN_INCONCLUSIVE] = "inconclusive: no CPU is protected, or the counts of one are not known",
	};
	enum span_verdict verdict = interval_verdict(interval);

	if (verdict != SPAN_NO_LIMIT)
		fprintf(out, "Limit of %u hits a second: %s\n", interval->options->limit,
			words[verdict]);
}

static void put_all(FILE *out, const struct watch_view *view, unsigned int columns)
{
	const char *title = "What helps:\n";

	watch_put_head(out, view);
	for (int page = 0; page < WATCH_PAGES; page++)
		put_page(out, view, (enum watch_page)page, columns);
	put_advice(out, view, WATCH_INTERRUPTS, &title);
	put_advice(out, view, WATCH_SOFTIRQS, &title);
	watch_put_notes(out, view);
	put_verdict(out, view->interval);
}

void watch_text(FILE *out, const struct watch_view *view)
{
	struct term_folded folded;

	term_folded_open(&folded);
	put_all(folded.stream, view, term_columns(out));
	term_folded_close(&folded, out);
}
