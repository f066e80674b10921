// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "measure/openmetrics.h"

static void put_head(FILE *out, const char *name, const char *suffix, const char *type,
		     const char *unit, const char *about)
{
	fprintf(out, "# TYPE isolator_%s%s %s\n", name, suffix, type);
	if (*unit)
		fprintf(out, "# UNIT isolator_%s%s %s\n", name, suffix, unit);
	fprintf(out, "# HELP isolator_%s%s %s\n", name, suffix, about);
}

/* In seconds, all of its digits. */
static void put_ns(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / WAIT_SECOND, ns % WAIT_SECOND);
}

static void put_histogram(FILE *out, const struct series *series)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < series->hist->length; i++) {
		if (!series->hist->counts[i])
			continue;
		seen += series->hist->counts[i];
		fprintf(out, "isolator_%s_seconds_bucket{cpu=\"%d\",le=\"", series->name,
			series->cpu);
		put_ns(out, hist_high(series->hist, i));
		fprintf(out, "\"} %" PRIu64 "\n", seen);
	}
	seen += series->overflow;
	fprintf(out, "isolator_%s_seconds_bucket{cpu=\"%d\",le=\"+Inf\"} %" PRIu64 "\n",
		series->name, series->cpu, seen);
	fprintf(out, "isolator_%s_seconds_count{cpu=\"%d\"} %" PRIu64 "\n", series->name,
		series->cpu, seen);
	fprintf(out, "isolator_%s_seconds_sum{cpu=\"%d\"} %.9f\n", series->name, series->cpu,
		seen ? series_mean(series) * (double)seen / WAIT_SECOND : 0.0);
}

/* The largest value, and when it was: its time stamp too. */
static void put_max(FILE *out, const struct result *result, const struct series *series)
{
	struct worst worst = series->worst;
	uint64_t at_ns;

	if (!worst.count)
		return;
	worst_sort(&worst);
	at_ns = result->began.real_ns + (worst.values[0].at_ns - result->began.monotonic_ns);
	fprintf(out, "isolator_%s_max_seconds{cpu=\"%d\"} ", series->name, series->cpu);
	put_ns(out, worst.values[0].value_ns);
	fputc(' ', out);
	put_ns(out, at_ns);
	fputc('\n', out);
}

static void put_min(FILE *out, const struct result *result, const struct series *series)
{
	(void)result;
	if (!series_any(series))
		return;
	fprintf(out, "isolator_%s_min_seconds{cpu=\"%d\"} ", series->name, series->cpu);
	put_ns(out, series->min);
	fputc('\n', out);
}

static void put_buckets(FILE *out, const struct result *result, const struct series *series)
{
	(void)result;
	put_histogram(out, series);
}

#define COUNTER(field) \
	static void put_ ## field(FILE *out, const struct result *result, \
				  const struct series *series) \
	{ \
		(void)result; \
		fprintf(out, "isolator_%s_" #field "_total{cpu=\"%d\"} %" PRIu64 "\n", \
			series->name, series->cpu, series->field); \
	}

COUNTER(triggers)
COUNTER(missing)
COUNTER(overflow)

/* All that there is of one quantity stands together. */
static const struct family {
	const char *suffix, *type, *unit, *about;
	void (*put)(FILE *out, const struct result *result, const struct series *series);
} families[] = {
	{ "_seconds", "histogram", "seconds", "All values; buckets without a count are left out.",
	  put_buckets },
	{ "_max_seconds", "gauge", "seconds", "The largest value, at the time when it was.", put_max },
	{ "_min_seconds", "gauge", "seconds", "The least value.", put_min },
	{ "_triggers", "counter", "", "What was to be measured.", put_triggers },
	{ "_missing", "counter", "", "Triggers without a value.", put_missing },
	{ "_overflow", "counter", "", "Values above what the histogram holds.", put_overflow },
	{ NULL, NULL, NULL, NULL, NULL },
};

void openmetrics_write(FILE *out, const struct result *result)
{
	const struct part *part = result->nr_parts ? &result->parts[result->nr_parts - 1] : NULL;
	enum outcome outcome = result_outcome(result);
	struct utsname kernel = { 0 };

	uname(&kernel);
	put_head(out, "measure", "", "info", "", "The run.");
	fprintf(out, "isolator_measure_info{id=\"%s\",measure=\"%s\",method=\"%s\",kernel=\"%s\",verdict=\"%s\"} 1\n",
		result->id, result->measure, result->method, kernel.release,
		outcome_names[outcome]);
	put_head(out, "measure", "_exit", "gauge", "", "The exit status that says the verdict.");
	fprintf(out, "isolator_measure_exit %d\n", result_exit(outcome));
	for (size_t i = 0; part && i < part->count; i++) {
		const char *name = part->series[i]->name;

		/* Series of one name on several CPUs are one family, at its first. */
		if (part->series[i]->cpu != part->series[0]->cpu)
			break;
		for (const struct family *family = families; family->suffix; family++) {
			put_head(out, name, family->suffix, family->type, family->unit,
				 family->about);
			for (size_t k = 0; k < part->count; k++)
				if (part->series[k]->name == name)
					family->put(out, result, part->series[k]);
		}
	}
	fputs("# EOF\n", out);
}
