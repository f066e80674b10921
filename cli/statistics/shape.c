// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>

#include "base/term.h"
#include "base/text.h"
#include "statistics/shape.h"

#define TIGHT 3.0	/* p95 is so many times p5, at most */
#define TAIL_FROM 1.5	/* times the median */
#define TAIL_P999 5.0	/* times as far above the median as p90 */
#define TAIL_P99 3.0
#define P999_FROM 10000	/* values */
#define ALONE_FROM 10	/* this many may be above the bound */
#define ALONE 10.0	/* times the bound */

/* The value below which @share lies, even within its bucket. */
static double value_at(const struct hist *hist, uint64_t total, double share)
{
	double target = share * (double)total;
	uint64_t seen = 0;
	size_t last = 0;

	for (size_t i = 0; i < hist->length; i++) {
		if (!hist->counts[i])
			continue;
		last = i;
		seen += hist->counts[i];
		if ((double)seen >= target)
			break;
	}
	seen -= hist->counts[last];
	return (double)hist_low(hist, last) +
		(target - (double)seen) / (double)hist->counts[last] *
		(double)(hist_high(hist, last) + 1 - hist_low(hist, last));
}

/* The greatest value that the one of this rank, from 1, may have had. */
static uint64_t at_rank(const struct hist *hist, uint64_t rank)
{
	uint64_t seen = 0;
	size_t i = 0;

	while (i + 1 < hist->length && seen + hist->counts[i] < rank)
		seen += hist->counts[i++];
	return hist_high(hist, i);
}

static void find_tail(struct shape *shape, const struct hist *hist)
{
	double p50 = value_at(hist, shape->total, 0.5);
	double spread = fmax(value_at(hist, shape->total, 0.9) - p50, 1);

	shape->far_p999 = shape->total >= P999_FROM;
	shape->far_ns = value_at(hist, shape->total, shape->far_p999 ? 0.999 : 0.99);
	shape->far_times = (shape->far_ns - p50) / spread;
	shape->tail = shape->far_ns >= TAIL_FROM * p50 &&
		shape->far_ns - p50 > (shape->far_p999 ? TAIL_P999 : TAIL_P99) * spread;
}

struct shape shape_find(const struct shape_of *of)
{
	struct shape shape = { .total = hist_total(of->hist), .max_ns = of->max_ns };

	if (shape.total < SHAPE_ENOUGH)
		return shape;
	shape.p5_ns = value_at(of->hist, shape.total, 0.05);
	shape.p95_ns = value_at(of->hist, shape.total, 0.95);
	find_tail(&shape, of->hist);
	shape.nr_peaks = shape_peaks(of, shape.peaks_ns);
	shape.body = shape.nr_peaks > 1 ? SHAPE_BIMODAL :
		shape.p95_ns <= TIGHT * fmax(shape.p5_ns, 1) ? SHAPE_TIGHT : SHAPE_WIDE;
	if (of->overflow < ALONE_FROM) {
		shape.bound_ns = at_rank(of->hist, shape.total + of->overflow - ALONE_FROM);
		shape.alone = (double)of->max_ns > ALONE * (double)shape.bound_ns;
	}
	return shape;
}

static void put_time(FILE *out, double ns)
{
	char text[TERM_TIME];

	fputs(term_time(text, (uint64_t)(ns + 0.5)), out);
}

static void put_peaks(FILE *out, const struct shape *shape)
{
	for (unsigned int i = 0; i < shape->nr_peaks && i < SHAPE_PEAKS; i++) {
		fputs(i ? " and " : "bimodal: peaks at ", out);
		put_time(out, shape->peaks_ns[i]);
	}
	fputs("; two different paths, or two states of the machine", out);
}

static void put_body(FILE *out, const struct shape *shape)
{
	if (shape->body == SHAPE_BIMODAL) {
		put_peaks(out, shape);
		return;
	}
	if (shape->body == SHAPE_TIGHT)
		fputs("tight: nine of ten lie between ", out);
	else
		fprintf(out, "wide: p95 is %.1f times p5 (", shape->p95_ns / fmax(shape->p5_ns, 1));
	put_time(out, shape->p5_ns);
	fputs(shape->body == SHAPE_TIGHT ? " and " : " to ", out);
	put_time(out, shape->p95_ns);
	if (shape->body == SHAPE_WIDE)
		fputc(')', out);
}

char *shape_words(const struct shape *shape)
{
	size_t size;
	char *text;
	FILE *out;

	if (shape->body == SHAPE_UNKNOWN)
		return text_format("%llu values: too few to speak of a shape (%d)",
				   (unsigned long long)shape->total, SHAPE_ENOUGH);
	out = text_open(&text, &size);
	put_body(out, shape);
	if (shape->tail) {
		fprintf(out, "; long tail: %s (", shape->far_p999 ? "p99.9" : "p99");
		put_time(out, shape->far_ns);
		fprintf(out, ") is %.0f times as far above the median as p90: rare things interrupt, look at their causes",
			shape->far_times);
	}
	if (shape->alone) {
		fputs("; the largest (", out);
		put_time(out, (double)shape->max_ns);
		fputs(") stands alone, all but 10 are below ", out);
		put_time(out, (double)shape->bound_ns);
		fputs(": one event, not the distribution", out);
	}
	fclose(out);
	return text;
}
