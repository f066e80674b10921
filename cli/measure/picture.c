// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/term.h"
#include "machine/machine.h"
#include "measure/picture.h"
#include "statistics/percentile.h"

#define ROWS 24		/* of the histogram, at most */
#define ROW_EDGES (12 * 10 + 2)
#define BAR 50
#define COLUMN 8
#define SHOWN 4		/* percentiles */

/* Edges that people read, in each decade; the finest set that has few enough rows. */
static const double decades[][11] = {
	{ 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8, 0 },
	{ 1, 1.6, 2.5, 4, 6.3, 0 },
	{ 1, 2, 5, 0 },
	{ 1, 0 },
};

static void put_time(FILE *out, bool known, uint64_t ns)
{
	char text[TERM_TIME];

	fprintf(out, " %*s", COLUMN, known ? term_time(text, ns) : "-");
}

static void put_head(FILE *out, const struct picture *picture)
{
	const struct result *result = picture->result;
	char resolution[TERM_TIME], floor[TERM_TIME];

	fprintf(out, "%s%s%s by %s, %.3g s", term_style(picture->colours, TERM_BOLD),
		picture->what, term_style(picture->colours, TERM_PLAIN), result->method,
		result->seconds);
	if (result->phase == PHASE_RANDOM)
		fprintf(out, ", random phase (--seed %" PRIu64 ")", result->seed);
	fprintf(out, "%s\n", result->early && !result->running ? ", ended early" : "");
	fprintf(out, "  clock %s, step %s", timebase_names[result->timebase->kind],
		term_time(resolution, (uint64_t)ceil(result->timebase->resolution_ns)));
	if (result->timebase->kind != TIMEBASE_TRACER)
		fprintf(out, ", a look takes %s", term_time(floor, result->timebase->floor_p50_ns));
	fputc('\n', out);
	if (machine_is_virtual())
		fputs("  this is a virtual machine: the host's pauses are in these figures\n", out);
}

/* What was asked for and not got, and what that costs. */
static void put_settings(FILE *out, const struct picture *picture)
{
	const struct asked_list *settings = &picture->result->settings;
	const char *comma = "  ";

	for (size_t i = 0; i < settings->count; i++) {
		if (!settings->list[i].held)
			continue;
		fprintf(out, "%s%s %s", comma, settings->list[i].name,
			settings->list[i].got ? settings->list[i].got : "?");
		comma = ", ";
	}
	if (*comma == ',')
		fputc('\n', out);
	for (size_t i = 0; i < settings->count; i++) {
		const struct asked *asked = &settings->list[i];

		if (asked->held)
			continue;
		fprintf(out, "  %slost: %s%s %s, not %s", term_style(picture->colours, TERM_RED),
			asked->name, term_style(picture->colours, TERM_PLAIN),
			asked->got ? asked->got : "not known", asked->asked ? asked->asked : "?");
		fprintf(out, "%s%s\n", asked->note ? ": " : "", asked->note ? asked->note : "");
	}
}

/* Those that have room in a line, the last the highest that is known on any CPU. */
static void choose(const struct part *part, uint32_t shown[SHOWN + 1])
{
	static const uint32_t always[SHOWN + 1] = { 500000, 10000, 1000, 100, 0 };

	memcpy(shown, always, sizeof(always));
	for (const uint32_t *above = percentiles; *above; above++)
		for (size_t i = 0; i < part->count; i++)
			if (*above < shown[SHOWN - 1] &&
			    percentile_find(part->series[i], *above).known)
				shown[SHOWN - 1] = *above;
}

static void put_columns(FILE *out, const struct picture *picture, const uint32_t *shown)
{
	char text[PERCENTILE_TEXT];

	fprintf(out, "%s%4s %10s %8s %*s", term_style(picture->colours, TERM_DIM), "CPU", "samples",
		"missing", COLUMN, "min");
	for (; *shown; shown++)
		fprintf(out, " %*s%s", COLUMN - (int)strlen(percentile_text(text, *shown)), "p",
			text);
	fprintf(out, " %*s%s\n", COLUMN, "max", term_style(picture->colours, TERM_PLAIN));
}

static void put_series(FILE *out, const struct picture *picture, const uint32_t *shown,
		       const struct series *series)
{
	bool any = series_any(series);

	fprintf(out, "%4d %10" PRIu64 " %8" PRIu64, series->cpu,
		series_samples(series) + series->overflow, series->missing);
	put_time(out, any, series->min);
	for (const uint32_t *above = shown; *above; above++) {
		struct percentile found = percentile_find(series, *above);

		put_time(out, found.known, found.value_ns);
	}
	fputs(term_style(picture->colours, TERM_BOLD), out);
	put_time(out, any, series->max);
	fprintf(out, "%s\n%33s", term_style(picture->colours, TERM_PLAIN), "with 95 % certainty at most");
	for (const uint32_t *above = shown; *above; above++) {
		struct percentile found = percentile_find(series, *above);

		put_time(out, found.bounded, found.upper_ns);
	}
	fputc('\n', out);
}

/* The percentile with the most samples still to come, that is first without a bound. */
static void put_needs(FILE *out, const struct part *part)
{
	uint64_t least = UINT64_MAX;
	char text[PERCENTILE_TEXT];

	for (size_t i = 0; i < part->count; i++) {
		uint64_t samples = series_samples(part->series[i]) + part->series[i]->overflow;

		if (samples < least)
			least = samples;
	}
	for (const uint32_t *above = percentiles; *above; above++) {
		double times = (double)percentile_needs(*above) / (double)(least ? least : 1);

		if (times <= 1)
			continue;
		fprintf(out, "  a bound of p%s takes %" PRIu64 " samples of each CPU: %.2g times this run",
			percentile_text(text, *above), percentile_needs(*above), times);
		if (part->seconds > 0 && least)
			fprintf(out, ", -t %.0fs", ceil(times * part->seconds));
		fputc('\n', out);
		break;
	}
}

/* Rows from the smallest value to the largest; their number. */
static size_t rows_of(const double *decade, uint64_t min, uint64_t max, uint64_t *edges)
{
	size_t count = 0;

	for (double power = 1; power < 1e12; power *= 10)
		for (const double *step = decade; *step; step++) {
			double edge = ceil(*step * power);

			if (count && (double)edges[count - 1] > (double)max)
				return count - 1;
			/* Only the last edge that is not above all values. */
			if (edge <= (double)min)
				count = 0;
			if (!count || (uint64_t)edge > edges[count - 1])
				edges[count++] = (uint64_t)edge;
		}
	return count - 1;
}

static void put_histogram(FILE *out, const struct hist *hist, uint64_t min, uint64_t max)
{
	uint64_t edges[ROW_EDGES], counts[ROW_EDGES] = { 0 }, most = 1;
	char from[TERM_TIME];
	size_t rows = 0;

	for (size_t i = 0; i < ARRAY_SIZE(decades) && (!i || rows > ROWS); i++)
		rows = rows_of(decades[i], min, max < HIST_HIGHEST ? max : HIST_HIGHEST, edges);
	/* A bucket belongs where its middle is. */
	for (size_t i = 0; i < hist->length; i++) {
		uint64_t middle = hist_low(hist, i) / 2 + hist_high(hist, i) / 2;
		size_t row = 0;

		while (row + 1 < rows && edges[row + 1] <= middle)
			row++;
		counts[row] += hist->counts[i];
	}
	for (size_t i = 0; i < rows; i++)
		if (counts[i] > most)
			most = counts[i];
	for (size_t i = 0; i < rows; i++) {
		/* 1 is one star, else it could not be told from 0. */
		double share = counts[i] ? (1 + log10((double)counts[i])) / (1 + log10((double)most)) : 0;
		int length = (int)(share * BAR + 0.5);

		fprintf(out, "  %*s %10" PRIu64 " ", COLUMN, term_time(from, edges[i]), counts[i]);
		for (int k = 0; k < length; k++)
			fputc('*', out);
		fputc('\n', out);
	}
}

/* Of all CPUs together. */
static void put_values(FILE *out, const struct picture *picture, const struct part *part)
{
	unsigned int digits = part->series[0]->hist->digits;
	struct hist *all = malloc(hist_size(digits));
	uint64_t min = UINT64_MAX, max = 0;

	if (!all)
		error_no_memory();
	hist_init(all, digits);
	for (size_t i = 0; i < part->count; i++) {
		hist_merge(all, part->series[i]->hist);
		if (part->series[i]->min < min)
			min = part->series[i]->min;
		if (part->series[i]->max > max)
			max = part->series[i]->max;
	}
	if (min <= max) {
		fprintf(out, "%s  %*s %10s %s%s\n", term_style(picture->colours, TERM_DIM), COLUMN,
			"from", "count", "bars are logarithmic",
			term_style(picture->colours, TERM_PLAIN));
		put_histogram(out, all, min, max);
	}
	free(all);
}

static void put_limits(FILE *out, const struct picture *picture)
{
	const struct result *result = picture->result;
	char value[TERM_TIME], bound[TERM_TIME];

	for (size_t i = 0; i < result->nr_limits; i++) {
		const struct limit *limit = &result->limits[i];
		bool red = limit->result == LIMIT_EXCEEDED;

		fprintf(out, "%s limit %s=%s: %s%s%s", limit->hard ? "hard" : "soft", limit->name,
			term_time(bound, limit->limit_ns), term_style(picture->colours && red, TERM_RED),
			limit_results[limit->result],
			term_style(picture->colours && red, TERM_PLAIN));
		if (limit->known)
			fprintf(out, ", the worst CPU has %s", term_time(value, limit->value_ns));
		fputc('\n', out);
	}
}

/* Of each second: how much of it was lost, or was not looked at. */
static void put_seconds(FILE *out, const struct part *part)
{
	for (size_t i = 0; i < part->count; i++) {
		const struct series *series = part->series[i];

		if (!series->per_second || !series_any(series))
			continue;
		fprintf(out, "CPU %d: %s %.3g %% of the time, of one second at most %.3g %%\n",
			series->cpu, series->name,
			series_mean(series) * 100 / (double)WAIT_SECOND,
			(double)series->max * 100 / (double)WAIT_SECOND);
	}
}

/* All series that are named as that at @first. */
static void put_quantity(FILE *out, const struct picture *picture, const struct part *part,
			 size_t first)
{
	const struct series *lead = part->series[first];
	bool several = false;
	uint32_t shown[SHOWN + 1];
	struct part same = *part;
	char text[TERM_TIME];

	same.count = 0;
	same.series = calloc(part->count, sizeof(*same.series));
	if (!same.series)
		error_no_memory();
	for (size_t i = 0; i < part->count; i++)
		if (!strcmp(part->series[i]->name, lead->name))
			same.series[same.count++] = part->series[i];
		else
			several = true;
	if (several || lead->above_ns)
		fprintf(out, "%s%s%s", term_style(picture->colours, TERM_BOLD), lead->name,
			term_style(picture->colours, TERM_PLAIN));
	/* 1 ns is no threshold: it is what is longer than nothing. */
	if (lead->above_ns > 1)
		fprintf(out, " above %s", term_time(text, lead->above_ns));
	if (several || lead->above_ns)
		fputc('\n', out);
	choose(&same, shown);
	put_columns(out, picture, shown);
	for (size_t i = 0; i < same.count; i++)
		put_series(out, picture, shown, same.series[i]);
	/* How many gaps there are is not for a run to choose. */
	if (!lead->above_ns)
		put_needs(out, &same);
	put_values(out, picture, &same);
	free(same.series);
}

/* Is it the first of that name? */
static bool is_first(const struct part *part, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (!strcmp(part->series[i]->name, part->series[index]->name))
			return false;
	return true;
}

/* What was looked at, and how; not of a run that did not take place. */
static void put_run(FILE *out, const struct picture *picture)
{
	const struct result *result = picture->result;

	put_head(out, picture);
	put_settings(out, picture);
	for (size_t i = 0; i < result->nr_parts; i++) {
		const struct part *part = &result->parts[i];

		if (part->load)
			fprintf(out, "with the load %s:\n", part->load);
		for (size_t k = 0; k < part->count; k++)
			if (is_first(part, k) && !part->series[k]->per_second)
				put_quantity(out, picture, part, k);
		put_seconds(out, part);
	}
	if (!result->running && picture->more)
		picture->more(out, result, picture->colours);
	put_limits(out, picture);
}

static void put_all(FILE *out, const struct picture *picture)
{
	const struct result *result = picture->result;
	char *words = result_words(result);
	enum outcome outcome = result_outcome(result);
	bool good = outcome == OUTCOME_MEASURED || outcome == OUTCOME_PASSED ||
		outcome == OUTCOME_RUNNING;

	if (!result->skipped)
		put_run(out, picture);
	if (!result->running) {
		fputs(term_style(picture->colours, good ? TERM_BOLD : TERM_RED), out);
		term_put(out, words);
		fprintf(out, "%s\n", term_style(picture->colours, TERM_PLAIN));
	}
	free(words);
}

void picture_draw(FILE *out, const struct picture *picture)
{
	struct term_folded folded;

	term_folded_open(&folded);
	put_all(folded.stream, picture);
	fclose(folded.stream);
	/* What is drawn for a screen has its width, too. */
	term_fold(out, folded.text, term_columns(stdout), TERM_HANG);
	free(folded.text);
}
