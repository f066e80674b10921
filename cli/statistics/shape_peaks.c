// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <string.h>

#include "statistics/shape.h"

#define STEPS 40	/* for each factor of 10 */
#define PLACES (12 * STEPS)
#define HOLDS 0.05	/* of all values, at least */
#define VALLEY 0.5	/* of the lower peak, at most */

/* Shares by bucket of equal ratio, the first one's number aside. */
struct density {
	int first;
	int length;
	double raw[PLACES], heights[PLACES];
};

/* Where the bucket @index begins and ends, in steps. */
static void span(const struct shape_of *of, size_t index, double *from, double *to)
{
	double low = (double)hist_low(of->hist, index);
	double end = fmax((double)hist_high(of->hist, index) + 1, low + of->step_ns);

	*from = log10(fmax(low, 1)) * STEPS;
	*to = log10(fmax(end, 2)) * STEPS;
}

/* A value which may have been anything within its bucket is spread over all of that. */
static void spread(struct density *density, const struct shape_of *of, uint64_t total)
{
	double from, to, last = 0;

	memset(density, 0, sizeof(*density));
	density->first = -1;
	for (size_t i = 0; i < of->hist->length; i++) {
		if (!of->hist->counts[i])
			continue;
		span(of, i, &from, &to);
		if (density->first < 0)
			density->first = (int)floor(from);
		last = fmax(last, to);
	}
	density->length = (int)ceil(last) - density->first + 1;
	for (size_t i = 0; i < of->hist->length; i++) {
		double width;

		if (!of->hist->counts[i])
			continue;
		span(of, i, &from, &to);
		width = fmax(to - from, 1e-9);
		for (int place = (int)floor(from); place < (int)ceil(to); place++)
			density->raw[place - density->first] += (double)of->hist->counts[i] *
				(fmin(to, place + 1) - fmax(from, place)) / width / (double)total;
	}
}

/* Twice a moving mean over three: noise of single buckets is no peak. */
static void smooth(struct density *density)
{
	double *heights = density->heights;

	memcpy(heights, density->raw, sizeof(density->raw));
	for (int pass = 0; pass < 2; pass++) {
		double before = 0;

		for (int i = 0; i < density->length; i++) {
			double here = heights[i];
			double after = i + 1 < density->length ? heights[i + 1] : 0;

			heights[i] = (before + here + after) / 3;
			before = here;
		}
	}
}

static int list_tops(const struct density *density, int tops[PLACES])
{
	const double *heights = density->heights;
	int count = 0;

	for (int i = 0; i < density->length; i++)
		if (heights[i] > 0 && (!i || heights[i] >= heights[i - 1]) &&
		    heights[i] > (i + 1 < density->length ? heights[i + 1] : 0))
			tops[count++] = i;
	return count;
}

static int lowest(const double *heights, int from, int to)
{
	int found = from;

	for (int i = from + 1; i < to; i++)
		if (heights[i] < heights[found])
			found = i;
	return found;
}

/* Which of @count tops is none, as no valley parts it or it holds too little; -1: all are. */
static int to_drop(const struct density *density, const int *tops, int count)
{
	const double *heights = density->heights;
	int cuts[PLACES + 1], shallow = 0, least = 0;
	double worst = -1, least_held = 2;

	cuts[0] = 0;
	cuts[count] = density->length;
	for (int i = 0; i + 1 < count; i++) {
		double ratio;

		cuts[i + 1] = lowest(heights, tops[i], tops[i + 1]);
		ratio = heights[cuts[i + 1]] / fmin(heights[tops[i]], heights[tops[i + 1]]);
		if (ratio >= worst) {
			worst = ratio;
			shallow = i;
		}
	}
	if (worst > VALLEY)
		return heights[tops[shallow]] <= heights[tops[shallow + 1]] ? shallow : shallow + 1;
	for (int i = 0; i < count; i++) {
		double held = 0;

		for (int k = cuts[i]; k < cuts[i + 1]; k++)
			held += density->raw[k];
		if (held < least_held) {
			least_held = held;
			least = i;
		}
	}
	return least_held < HOLDS ? least : -1;
}

unsigned int shape_peaks(const struct shape_of *of, double peaks_ns[SHAPE_PEAKS])
{
	struct density density;
	int tops[PLACES], count, drop;

	spread(&density, of, hist_total(of->hist));
	smooth(&density);
	count = list_tops(&density, tops);
	while (count > 1 && (drop = to_drop(&density, tops, count)) >= 0) {
		count--;
		memmove(&tops[drop], &tops[drop + 1], (size_t)(count - drop) * sizeof(*tops));
	}
	for (int i = 0; i < count && i < SHAPE_PEAKS; i++)
		peaks_ns[i] = pow(10, (density.first + tops[i] + 0.5) / STEPS);
	return (unsigned int)count;
}
