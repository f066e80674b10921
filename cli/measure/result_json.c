// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "audit/audit.h"
#include "base/file.h"
#include "machine/machine.h"
#include "sampling/result.h"
#include "statistics/hdr.h"
#include "statistics/percentile.h"

#define SCHEMA_VERSION 1
#define MODEL_X86 "model name"

static void put_settings(struct json *json, const struct asked_list *settings)
{
	json_open(json, "settings", '[');
	for (size_t i = 0; i < settings->count; i++) {
		const struct asked *asked = &settings->list[i];

		json_open(json, NULL, '{');
		json_string(json, "name", asked->name);
		json_string(json, "asked", asked->asked);
		json_string(json, "got", asked->got);
		json_bool(json, "held", asked->held);
		json_string(json, "note", asked->note);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_phase(struct json *json, const struct result *result)
{
	static const char *const kinds[] = {
		[PHASE_RANDOM] = "random",
		[PHASE_FIXED] = "fixed",
		[PHASE_NONE] = "none",
	};

	json_open(json, "phase", '{');
	json_string(json, "kind", kinds[result->phase]);
	json_number_if(json, "seed", result->phase == PHASE_RANDOM, result->seed);
	json_close(json, '}');
}

/* The first line, or null. */
static void put_word(struct json *json, const char *key, const char *path)
{
	char text[4096];

	json_string(json, key, file_word(text, sizeof(text), "%s", path) ? text : NULL);
}

/* Arm's cpuinfo has no name for it. */
static void put_model(struct json *json)
{
	size_t size;
	char *text = file_read("/proc/cpuinfo", &size), *line = NULL, *name = NULL;

	if (text)
		line = strstr(text, MODEL_X86);
	if (line) {
		line[strcspn(line, "\n")] = '\0';
		name = strstr(line, ": ");
	}
	json_string(json, "cpu", name ? name + 2 : NULL);
	free(text);
}

static void put_machine(struct json *json, const struct audit *audit)
{
	struct cpulist online = { .given = true };
	char text[4096];

	json_open(json, "machine", '{');
	put_word(json, "host", "/proc/sys/kernel/hostname");
	put_word(json, "cmdline", "/proc/cmdline");
	put_word(json, "clocksource",
		 "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	put_model(json);
	json_bool(json, "virtual", machine_is_virtual());
	if (file_word(text, sizeof(text), "/sys/devices/system/cpu/online"))
		cpulist_read(text, &online);
	json_cpus(json, "online", &online);
	json_open(json, "findings", '[');
	for (size_t i = 0; audit && i < audit->count; i++) {
		json_open(json, NULL, '{');
		json_string(json, "id", audit->findings[i].check->id);
		json_string(json, "severity", audit_severities[audit->findings[i].severity]);
		json_string(json, "path", audit->findings[i].path);
		json_string(json, "value", audit->findings[i].value);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_instrument(struct json *json, const struct result *result)
{
	const struct timebase *timebase = result->timebase;

	json_open(json, "instrument", '{');
	json_string(json, "clock", timebase_names[timebase->kind]);
	json_string(json, "note", *timebase->note ? timebase->note : NULL);
	json_real(json, "resolution_ns", timebase->resolution_ns);
	json_open(json, "floor_ns", '{');
	json_number(json, "min", timebase->floor_min_ns);
	json_number(json, "p50", timebase->floor_p50_ns);
	json_number(json, "max", timebase->floor_max_ns);
	json_close(json, '}');
	json_number_if(json, "threshold_ns", result->threshold_ns != UINT64_MAX,
		       result->threshold_ns);
	json_close(json, '}');
}

static void put_percentiles(struct json *json, const struct series *series)
{
	char text[PERCENTILE_TEXT];

	json_open(json, "percentiles", '[');
	for (const uint32_t *above = percentiles; *above; above++) {
		struct percentile found = percentile_find(series, *above);

		json_open(json, NULL, '{');
		json_literal(json, "percent", percentile_text(text, *above));
		json_number_if(json, "value_ns", found.known, found.value_ns);
		json_number_if(json, "upper_ns", found.bounded, found.upper_ns);
		json_number(json, "needs", found.needs);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_histogram(struct json *json, const struct hist *hist)
{
	char *data = hdr_encode(hist);

	json_open(json, "histogram", '{');
	json_string(json, "encoding", HDR_ENCODING);
	json_number(json, "lowest_ns", HIST_LOWEST);
	json_number(json, "highest_ns", HIST_HIGHEST);
	json_number(json, "digits", hist->digits);
	json_string(json, "data", data);
	json_close(json, '}');
	free(data);
}

static void put_timeline(struct json *json, const struct timeline *timeline)
{
	unsigned int count = timeline->end_ns && timeline->counts[timeline->at] ?
		timeline->at + 1 : 0;

	json_open(json, "timeline", '{');
	json_number(json, "interval_ns", timeline->interval_ns);
	json_open(json, "maxima", '[');
	for (unsigned int i = 0; i < count; i++)
		json_number_if(json, NULL, timeline->counts[i], timeline->maxima[i]);
	json_close(json, ']');
	json_open(json, "counts", '[');
	for (unsigned int i = 0; i < count; i++)
		json_number(json, NULL, timeline->counts[i]);
	json_close(json, ']');
	json_close(json, '}');
}

/* Outliers are those of the last part, of series that have a ring. */
static int place_of(const struct result *result, const struct series *series, bool last,
		    const struct worst_value *value)
{
	if (!result->place || !last || !series->ring || value->value_ns <= series->threshold_ns)
		return -1;
	return result->place(series->cpu, value->trigger);
}

static void put_top(struct json *json, const struct result *result, const struct series *series,
		    bool last)
{
	struct worst worst = series->worst;

	worst_sort(&worst);
	json_open(json, "top", '[');
	for (unsigned int i = 0; i < worst.count; i++) {
		const struct worst_value *value = &worst.values[i];
		int place = place_of(result, series, last, value);

		json_open(json, NULL, '{');
		json_number(json, "value_ns", value->value_ns);
		json_number(json, "trigger", value->trigger);
		json_time(json, "at", result->began.real_ns +
			  (value->at_ns - result->began.monotonic_ns));
		json_number(json, "monotonic_ns", value->at_ns);
		json_number_if(json, "outlier", place >= 0, (uint64_t)place);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_series(struct json *json, const struct result *result,
		       const struct series *series, bool last)
{
	bool any = series_any(series);

	json_open(json, NULL, '{');
	json_string(json, "name", series->name);
	json_integer(json, "cpu", series->cpu);
	json_string(json, "unit", "ns");
	json_number(json, "triggers", series->triggers);
	json_number(json, "samples", series_samples(series));
	json_number(json, "overflow", series->overflow);
	json_number(json, "missing", series->missing);
	json_bool(json, "complete", series_complete(series));
	json_number_if(json, "min", any, series->min);
	json_number_if(json, "max", any, series->max);
	if (any)
		json_real(json, "mean", series_mean(series));
	else
		json_null(json, "mean");
	put_percentiles(json, series);
	put_histogram(json, series->hist);
	put_timeline(json, &series->timeline);
	put_top(json, result, series, last);
	json_close(json, '}');
}

static void put_parts(struct json *json, const struct result *result)
{
	json_open(json, "parts", '[');
	for (size_t i = 0; i < result->nr_parts; i++) {
		const struct part *part = &result->parts[i];

		json_open(json, NULL, '{');
		json_string(json, "name", part->loaded ? "loaded" : "quiet");
		json_string(json, "load", part->load);
		json_time(json, "began", part->began.real_ns);
		json_real(json, "seconds", part->seconds);
		json_open(json, "series", '[');
		for (size_t k = 0; k < part->count; k++)
			put_series(json, result, part->series[k], i + 1 == result->nr_parts);
		json_close(json, ']');
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_limit(struct json *json, const struct result *result)
{
	json_open(json, "limits", '[');
	for (size_t i = 0; i < result->nr_limits; i++) {
		const struct limit *limit = &result->limits[i];

		json_open(json, NULL, '{');
		json_string(json, "name", limit->name);
		json_number(json, "limit_ns", limit->limit_ns);
		json_bool(json, "hard", limit->hard);
		json_number_if(json, "value_ns", limit->known, limit->value_ns);
		json_string(json, "result", limit_results[limit->result]);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* As it was called: a page of the result says how one measures it again. */
static void put_command(struct json *json)
{
	size_t size = 0;
	char *words = file_read("/proc/self/cmdline", &size);

	for (size_t i = 0; words && i + 1 < size; i++)
		words[i] = words[i] ? words[i] : ' ';
	json_string(json, "command", words);
	free(words);
}

void result_json(FILE *out, const struct result *result)
{
	enum outcome outcome = result_outcome(result);
	char *words = result_words(result);
	struct json json = { .out = out };
	struct utsname kernel = { 0 };

	uname(&kernel);
	json_document(&json, "isolator.measure", SCHEMA_VERSION);
	json_string(&json, "kernel", kernel.release);
	json_string(&json, "id", result->id);
	put_command(&json);
	json_string(&json, "measure", result->measure);
	json_string(&json, "method", result->method);
	json_string(&json, "verdict", outcome_names[outcome]);
	json_integer(&json, "exit", result_exit(outcome));
	json_string(&json, "words", words);
	json_time(&json, "began", result->began.real_ns);
	json_real(&json, "seconds", result->seconds);
	json_bool(&json, "early", result->early);
	put_settings(&json, &result->settings);
	put_phase(&json, result);
	put_machine(&json, result->audit);
	put_instrument(&json, result);
	put_parts(&json, result);
	put_limit(&json, result);
	if (result->attribution)
		result->attribution(&json, result);
	else
		json_null(&json, "attribution");
	json_document_end(&json);
	free(words);
}
