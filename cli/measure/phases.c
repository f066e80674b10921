// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/term.h"
#include "base/text.h"
#include "interfere/load.h"
#include "measure/causes.h"
#include "measure/phases.h"

/*
 * How long it is measured without looking for causes, before and again after: what drifts
 * meanwhile is in both.
 */
#define OFF_SHARE 8
#define OFF_LEAST_NS (WAIT_SECOND / 2)
#define OFF_MOST_NS (3 * WAIT_SECOND)

static struct load *load;	/* there is one run in a process */

int phases_open(const struct phases *phases, const struct order *order, struct result *result)
{
	const struct load_order how = { .cpus = phases->load_cpus, .targets = order->cpus };

	if (!phases->load || result->skipped)
		return 0;
	if (!load_find(phases->load))
		return -1;
	result->reason = load_missing(phases->load);
	if (result->reason) {
		result->skipped = result->reason;
		return 1;
	}
	load = load_open(phases->load, &how);
	return load ? 0 : -1;
}

/* Its figures are kept aside: they are no part of the result. */
static int run_off(struct sampler *sampler, struct result *result, struct part *off)
{
	const struct order *order = sampler->order;
	struct order shorter = *order;
	uint64_t ns = order->duration_ns / OFF_SHARE;
	double seconds = result->seconds;
	int error;

	shorter.duration_ns = ns < OFF_LEAST_NS ? OFF_LEAST_NS : ns > OFF_MOST_NS ? OFF_MOST_NS : ns;
	shorter.output = NULL;
	shorter.show = NULL;
	sampler->order = &shorter;
	error = sampler_run(sampler, NULL);
	sampler->order = order;
	result->seconds = seconds;
	*off = result->parts[--result->nr_parts];
	return error;
}

static void free_off(const struct part *off)
{
	for (size_t i = 0; i < off->count; i++)
		free(off->series[i]);
	free(off->series);
}

/* One part with causes, between two without. */
static int run_why(const struct phases *phases, struct sampler *sampler, struct result *result,
		   const char *name)
{
	struct part off[2] = { 0 };
	size_t count = 1;
	int error = run_off(sampler, result, &off[0]);

	if (!error && !result->early) {
		causes_open(sampler, result, phases->why_ns, phases->worst);
		error = sampler_run(sampler, name);
		if (causes_end(sampler) && !error && !result->early) {
			error = run_off(sampler, result, &off[count++]);
			/* All that was to be measured was. */
			result->early = false;
		}
		if (!error)
			causes_overhead(off, count, &result->parts[result->nr_parts - 1]);
	}
	free_off(&off[0]);
	free_off(&off[1]);
	return error;
}

static int run_part(const struct phases *phases, struct sampler *sampler, struct result *result,
		    const char *name)
{
	return phases->why_ns ? run_why(phases, sampler, result, name) :
		sampler_run(sampler, name);
}

/* It did what it shall to the end, or the part is none of a load's. */
static void check_load(const struct phases *phases, struct result *result)
{
	bool runs = load_running(load);
	const char *why = load_failure(load);

	asked_add(&result->settings, "load", phases->load, runs ? phases->load : "ended", runs,
		  true, runs ? "%s" : "it ended before its time: %s",
		  runs ? load_words(load) : why ? why : "it was killed");
}

int phases_run(const struct phases *phases, struct sampler *sampler, struct result *result)
{
	int error;

	if (!load)
		return run_part(phases, sampler, result, NULL);
	error = sampler_run(sampler, NULL);
	if (error || result->early)
		return error;
	if (load_start(load))
		return -1;
	error = run_part(phases, sampler, result, phases->load);
	if (!error)
		check_load(phases, result);
	load_stop(load);
	return error;
}

static double times(uint64_t loaded, uint64_t quiet)
{
	return (double)loaded / (double)(quiet ? quiet : 1);
}

void phases_text(FILE *out, const struct result *result, bool colours)
{
	const struct part *quiet = &result->parts[0], *loaded = &result->parts[1];
	static const uint32_t shown[] = { 500000, 10000, 1000, 0 };
	char text[PERCENTILE_TEXT];

	for (size_t i = 0; result->nr_parts == 2 && i < quiet->count && i < loaded->count; i++) {
		const struct series *before = quiet->series[i], *after = loaded->series[i];

		if (!series_any(before) || !series_any(after))
			continue;
		fprintf(out, "CPU %d, %s: loaded to quiet", before->cpu, before->name);
		for (const uint32_t *above = shown; *above && !before->per_second; above++) {
			struct percentile was = percentile_find(before, *above);
			struct percentile is = percentile_find(after, *above);

			if (was.known && is.known)
				fprintf(out, " p%s %.3g,", percentile_text(text, *above),
					times(is.value_ns, was.value_ns));
		}
		fprintf(out, " max %.3g times\n", times(after->max, before->max));
	}
	if (result->attribution)
		causes_text(out, colours);
}

bool phases_close(void)
{
	bool good = causes_close();

	load_close(load);
	load = NULL;
	return good;
}
