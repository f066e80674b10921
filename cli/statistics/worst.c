// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "statistics/worst.h"

/* @value goes where a leaf is free, up or down from @at. */
static void sift_up(struct worst *worst, unsigned int at, const struct worst_value *value)
{
	while (at && worst->values[(at - 1) / 2].value_ns > value->value_ns) {
		worst->values[at] = worst->values[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	worst->values[at] = *value;
}

static void sift_down(struct worst *worst, const struct worst_value *value)
{
	unsigned int at = 0, child;

	while ((child = 2 * at + 1) < worst->count) {
		if (child + 1 < worst->count &&
		    worst->values[child + 1].value_ns < worst->values[child].value_ns)
			child++;
		if (worst->values[child].value_ns >= value->value_ns)
			break;
		worst->values[at] = worst->values[child];
		at = child;
	}
	worst->values[at] = *value;
}

void worst_enter(struct worst *worst, const struct worst_value *value)
{
	if (worst->count < WORST_ROOM)
		sift_up(worst, worst->count++, value);
	else
		sift_down(worst, value);
}

static int larger_first(const void *left, const void *right)
{
	const struct worst_value *a = left, *b = right;

	if (a->value_ns != b->value_ns)
		return (a->value_ns < b->value_ns) - (a->value_ns > b->value_ns);
	return (a->trigger > b->trigger) - (a->trigger < b->trigger);
}

void worst_sort(struct worst *worst)
{
	qsort(worst->values, worst->count, sizeof(*worst->values), larger_first);
}
