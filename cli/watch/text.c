// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator watch in plain lines. */
#include <inttypes.h>

#include "watch/watch.h"

static void put_page(FILE *out, const struct watch_view *view, enum watch_page page)
{
	size_t count = watch_rows(view->interval, page), most = view->interval->options->top;

	if (!count)
		return;
	watch_put_heads(out, view, page);
	for (size_t i = 0; i < count && (!most || i < most); i++)
		watch_put_row(out, view, page, i);
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
		[SPAN_INCONCLUSIVE] = "inconclusive: not every protected CPU was seen, or none is protected",
	};
	enum span_verdict verdict = interval_verdict(interval);

	if (verdict != SPAN_NO_LIMIT)
		fprintf(out, "Limit of %u hits a second: %s\n", interval->options->limit,
			words[verdict]);
}

void watch_text(FILE *out, const struct watch_view *view)
{
	const char *title = "What helps:\n";

	watch_put_head(out, view);
	for (int page = 0; page < WATCH_PAGES; page++)
		put_page(out, view, (enum watch_page)page);
	put_advice(out, view, WATCH_INTERRUPTS, &title);
	put_advice(out, view, WATCH_SOFTIRQS, &title);
	watch_put_notes(out, view);
	put_verdict(out, view->interval);
}
