/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pauses of a loop that does nothing but read the clock. */
#ifndef GAPS_H
#define GAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Classes of pauses: from 1 us, 10 us, 100 us, 1 ms, 10 ms, 100 ms on. */
#define GAPS_CLASSES 6
#define GAPS_FIRST_NS 1000

/* In cycles, but for what says ns; 0 begins a count. */
struct gaps {
	uint64_t count;		/* above the threshold */
	uint64_t longest;
	uint64_t least;		/* between two looks; 0: there was none */
	uint64_t classes[GAPS_CLASSES];
};

/* What is the same for all of a run. */
struct gaps_scale {
	double per_ns;		/* cycles */
	uint64_t threshold;
	uint64_t edges[GAPS_CLASSES];
};

/* @scale for a clock of @per_ns cycles each ns. */
void gaps_scale_set(struct gaps_scale *scale, double per_ns, uint64_t threshold_ns);

/* Counts a pause that is at least the first class; is it above the threshold? */
bool gaps_add(struct gaps *gaps, const struct gaps_scale *scale, uint64_t pause);

/*
 * Between two looks at the clock; what goes back, as a clock of a guest can, is none.  Is
 * it above the threshold?
 */
static inline bool gaps_look(struct gaps *gaps, const struct gaps_scale *scale,
			     uint64_t before, uint64_t now)
{
	uint64_t pause = now - before;

	if ((int64_t)pause <= 0)
		return false;
	if (pause < gaps->least || !gaps->least)
		gaps->least = pause;
	if (__builtin_expect(pause > gaps->longest, 0))
		gaps->longest = pause;
	/* The threshold may be finer than the classes. */
	if (__builtin_expect(pause >= scale->edges[0] || pause > scale->threshold, 0))
		return gaps_add(gaps, scale, pause);
	return false;
}

/* In ns; what is shorter than one, as two looks of an idle pipeline are, is 1, and only 0 is 0. */
uint64_t gaps_ns(const struct gaps_scale *scale, uint64_t pause);

#endif
