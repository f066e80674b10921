// SPDX-License-Identifier: GPL-2.0-or-later
/* All that is read and found for one interval. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "watch/interval.h"

/* Who may read it is root, and what it says of an affinity is said elsewhere. */
#define DEBUG "/sys/kernel/debug/irq/"

bool interval_shows(const struct interval *interval, const struct span_row *row)
{
	return row->came || interval->options->all;
}

bool interval_unread(const struct capture_file *file)
{
	return file->error && file->error != ENOENT && strncmp(file->path, DEBUG, strlen(DEBUG));
}

enum span_verdict interval_verdict(const struct interval *interval)
{
	if (interval->options->limit == WATCH_NO_LIMIT)
		return SPAN_NO_LIMIT;
	return span_judge(&interval->span, interval->options->limit);
}

/* Is there an affinity that somebody may change, and that is to be changed? */
static bool look_at_routes(struct interval *interval)
{
	bool moves = false;

	for (int i = 0; i < LOOK_LISTS; i++) {
		struct span_list *list = &interval->span.lists[i];

		for (size_t k = 0; k < list->count; k++) {
			if (!interval_shows(interval, &list->rows[k]))
				continue;
			router_look(&interval->router, (enum look_list)i, &list->rows[k]);
			moves |= list->rows[k].route->reach == IRQ_ASKED;
		}
	}
	return moves;
}

int interval_make(struct interval *interval, const struct watch_options *options,
		  const struct look *before, const struct look *now, double seconds)
{
	*interval = (struct interval){ .options = options };
	if (capture_open(&interval->capture, options->root))
		return -1;
	guard_read(&interval->guard, &interval->capture, &options->cpus);
	span_make(&interval->span, before, now, seconds, &interval->guard);
	router_open(&interval->router, &interval->capture, &interval->guard,
		    &interval->span.since.both);
	/* Whoever moves interrupts matters to what is moved by hand alone. */
	if (look_at_routes(interval))
		interval->balancer = capture_process(&interval->capture, "irqbalance");
	return 0;
}

void interval_free(struct interval *interval)
{
	router_close(&interval->router);
	span_free(&interval->span);
	guard_free(&interval->guard);
	capture_free(&interval->capture);
}
