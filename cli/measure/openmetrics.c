// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/utsname.h>

#include "base/array.h"
#include "base/error.h"
#include "base/exposition.h"
#include "measure/openmetrics.h"

static void begin(struct exposition *to, const struct series *series)
{
	exposition_sample(to);
	exposition_label_number(to, "cpu", series->cpu);
}

static void begin_part(struct exposition *to, const char *part, const struct series *series)
{
	exposition_part(to, part);
	exposition_label_number(to, "cpu", series->cpu);
}

static void put_buckets(struct exposition *to, const struct result *result,
			const struct series *series)
{
	uint64_t seen = 0;

	(void)result;
	for (size_t i = 0; i < series->hist->length; i++) {
		if (!series->hist->counts[i])
			continue;
		seen += series->hist->counts[i];
		begin_part(to, "_bucket", series);
		exposition_label_ns(to, "le", hist_high(series->hist, i));
		exposition_number(to, seen);
	}
	seen += series->overflow;
	begin_part(to, "_bucket", series);
	exposition_label_ns(to, "le", UINT64_MAX);
	exposition_number(to, seen);
	begin_part(to, "_count", series);
	exposition_number(to, seen);
	begin_part(to, "_sum", series);
	exposition_seconds(to, seen ? series_mean(series) * (double)seen / WAIT_SECOND : 0.0);
}

static void put_max(struct exposition *to, const struct result *result,
		    const struct series *series)
{
	struct worst worst = series->worst;

	if (!worst.count)
		return;
	worst_sort(&worst);
	begin(to, series);
	exposition_ns_at(to, worst.values[0].value_ns, result->began.real_ns +
			 (worst.values[0].at_ns - result->began.monotonic_ns));
}

static void put_min(struct exposition *to, const struct result *result,
		    const struct series *series)
{
	(void)result;
	if (!series_any(series))
		return;
	begin(to, series);
	exposition_ns(to, series->min);
}

#define COUNTER(field) \
	static void put_ ## field(struct exposition *to, const struct result *result, \
				  const struct series *series) \
	{ \
		(void)result; \
		begin(to, series); \
		exposition_number(to, series->field); \
	}

COUNTER(triggers)
COUNTER(missing)
COUNTER(overflow)

/* All that there is of one quantity stands together. */
static const struct family {
	const char *name;
	enum exposition_type type;
	const char *unit, *about;
	void (*put)(struct exposition *to, const struct result *result,
		    const struct series *series);
} families[] = {
	{ "seconds", EXPOSITION_HISTOGRAM, "seconds",
	  "All values; buckets without a count are left out.", put_buckets },
	{ "max_seconds", EXPOSITION_GAUGE, "seconds",
	  "The largest value, at the time when it was.", put_max },
	{ "min_seconds", EXPOSITION_GAUGE, "seconds", "The least value.", put_min },
	{ "triggers", EXPOSITION_COUNTER, NULL, "What the measurement asked for.", put_triggers },
	{ "missing", EXPOSITION_COUNTER, NULL, "Triggers without a value.", put_missing },
	{ "overflow", EXPOSITION_COUNTER, NULL, "Values above what the histogram holds.",
	  put_overflow },
};

static void put_run(struct exposition *to, const struct result *result)
{
	enum outcome outcome = result_outcome(result);
	struct utsname kernel = { 0 };

	uname(&kernel);
	exposition_family(to, EXPOSITION_INFO, NULL, "The run.", "isolator_measure");
	exposition_sample(to);
	exposition_label(to, "id", result->id);
	exposition_label(to, "measure", result->measure);
	exposition_label(to, "method", result->method);
	exposition_label(to, "kernel", kernel.release);
	exposition_label(to, "verdict", outcome_names[outcome]);
	exposition_number(to, 1);
	exposition_family(to, EXPOSITION_GAUGE, NULL, "The exit status that says the verdict.",
			  "isolator_measure_exit");
	exposition_sample(to);
	exposition_number(to, (uint64_t)result_exit(outcome));
}

void openmetrics_write(FILE *out, const struct result *result)
{
	const struct part *part = result->nr_parts ? &result->parts[result->nr_parts - 1] : NULL;
	struct exposition to = { .out = out, .format = EXPOSITION_OPENMETRICS };

	put_run(&to, result);
	for (size_t i = 0; part && i < part->count; i++) {
		const char *name = part->series[i]->name;

		/* Series of one name on several CPUs are one family, at its first. */
		if (part->series[i]->cpu != part->series[0]->cpu)
			break;
		for (size_t f = 0; f < ARRAY_SIZE(families); f++) {
			exposition_family(&to, families[f].type, families[f].unit,
					  families[f].about, "isolator_%s_%s", name,
					  families[f].name);
			for (size_t k = 0; k < part->count; k++)
				if (part->series[k]->name == name)
					families[f].put(&to, result, part->series[k]);
		}
	}
	exposition_end(&to);
}
