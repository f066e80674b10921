/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolator top shows at one moment. */
#ifndef TOP_H
#define TOP_H

#include "status/stat.h"

struct top_view {
	struct stat_view stat;
	int selected;		/* the CPU whose senders are shown; -1: none is isolated */
	bool paused;
};

void top_text(FILE *out, const struct top_view *view);

/* The isolated CPU that is @steps behind @selected, or the nearest; -1: none is. */
int top_move(const struct proc_sample *sample, int selected, int steps);

#endif
