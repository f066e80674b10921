// SPDX-License-Identifier: GPL-2.0-or-later
#include "statistics/gaps.h"

void gaps_scale_set(struct gaps_scale *scale, double per_ns, uint64_t threshold_ns)
{
	double edge = GAPS_FIRST_NS;

	scale->per_ns = per_ns;
	scale->threshold = (uint64_t)((double)threshold_ns * per_ns);
	for (int i = 0; i < GAPS_CLASSES; i++, edge *= 10)
		scale->edges[i] = (uint64_t)(edge * per_ns);
}

bool gaps_add(struct gaps *gaps, const struct gaps_scale *scale, uint64_t pause)
{
	int class = GAPS_CLASSES - 1;

	while (class >= 0 && pause < scale->edges[class])
		class--;
	if (class >= 0)
		gaps->classes[class]++;
	if (pause <= scale->threshold)
		return false;
	gaps->count++;
	return true;
}

uint64_t gaps_ns(const struct gaps_scale *scale, uint64_t pause)
{
	uint64_t ns = (uint64_t)((double)pause / scale->per_ns);

	return ns || !pause ? ns : 1;
}
