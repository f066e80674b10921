// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>

#include "proc/counts.h"

const char *const count_names[COUNTS] = {
	[DEFERRED] = "deferred",
	[EXCLUDED] = "excluded",
	[QUEUED] = "queued",
	[MISSED] = "missed",
	[IMMEDIATE] = "immediate",
	[REFUSED] = "refused",
	[PLANNED] = "planned",
};

uint64_t counts_sum(const struct counts *counts)
{
	uint64_t sum = 0;

	for (int i = 0; i < COUNTS; i++)
		sum += counts->n[i];
	return sum;
}

void counts_add(struct counts *counts, const struct counts *more)
{
	for (int i = 0; i < COUNTS; i++)
		counts->n[i] += more->n[i];
}

bool counts_since(const struct counts *now, const struct counts *before,
		  struct counts *since)
{
	*since = *now;
	if (!before)
		return true;
	for (int i = 0; i < COUNTS; i++)
		if (now->n[i] < before->n[i])
			return false;
	for (int i = 0; i < COUNTS; i++)
		since->n[i] -= before->n[i];
	return true;
}
