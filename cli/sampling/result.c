// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "base/file.h"
#include "base/term.h"
#include "base/text.h"
#include "sampling/result.h"

const char *const outcome_names[] = {
	[OUTCOME_RUNNING] = "running",
	[OUTCOME_MEASURED] = "measured",
	[OUTCOME_PASSED] = "passed",
	[OUTCOME_EXCEEDED] = "exceeded",
	[OUTCOME_INVALID] = "invalid",
	[OUTCOME_INCONCLUSIVE] = "inconclusive",
	[OUTCOME_SKIPPED] = "skipped",
};

struct moment moment_now(void)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	return (struct moment){
		.real_ns = (uint64_t)real.tv_sec * WAIT_SECOND + (uint64_t)real.tv_nsec,
		.monotonic_ns = wait_clock_ns(),
	};
}

void result_init(struct result *result, const char *measure, const char *method)
{
	unsigned char bytes[16] = { 0 };

	*result = (struct result){
		.measure = measure, .method = method, .running = true,
		.phase = PHASE_NONE, .threshold_ns = UINT64_MAX, .began = moment_now(),
	};
	/* It never fails for so few once the machine has come up. */
	if (getrandom(bytes, sizeof(bytes), 0) < 0)
		exit(error_say("no random numbers: %s", strerror(errno)));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(result->id + 2 * i, 3, "%02x", bytes[i]);
}

void result_judge(struct result *result)
{
	const struct part *part = result->nr_parts ? &result->parts[result->nr_parts - 1] : NULL;

	for (size_t i = 0; i < result->nr_limits; i++)
		limit_judge(&result->limits[i], part ? part->series : NULL, part ? part->count : 0);
}

/* The first series whose account is not even; NULL: all are. */
static const struct series *incomplete(const struct result *result)
{
	for (size_t i = 0; i < result->nr_parts; i++)
		for (size_t k = 0; k < result->parts[i].count; k++)
			if (!series_complete(result->parts[i].series[k]))
				return result->parts[i].series[k];
	return NULL;
}

/* Also that nothing was above a threshold is something. */
static bool any_value(const struct result *result)
{
	for (size_t i = 0; i < result->nr_parts; i++)
		for (size_t k = 0; k < result->parts[i].count; k++)
			if (series_any(result->parts[i].series[k]) ||
			    result->parts[i].series[k]->above_ns)
				return true;
	return false;
}

/* The first hard limit with this result; NULL: none has it. */
static const struct limit *judged(const struct result *result, enum limit_result wanted)
{
	for (size_t i = 0; i < result->nr_limits; i++)
		if (result->limits[i].hard && result->limits[i].result == wanted)
			return &result->limits[i];
	return NULL;
}

enum outcome result_outcome(const struct result *result)
{
	if (result->running)
		return OUTCOME_RUNNING;
	if (result->skipped)
		return OUTCOME_SKIPPED;
	if (incomplete(result) || asked_broken(&result->settings))
		return OUTCOME_INVALID;
	if (judged(result, LIMIT_EXCEEDED))
		return OUTCOME_EXCEEDED;
	if (judged(result, LIMIT_UNKNOWN))
		return OUTCOME_INCONCLUSIVE;
	if (judged(result, LIMIT_KEPT))
		return OUTCOME_PASSED;
	return any_value(result) ? OUTCOME_MEASURED : OUTCOME_INCONCLUSIVE;
}

int result_exit(enum outcome outcome)
{
	static const int codes[] = {
		[OUTCOME_RUNNING] = EXIT_INCONCLUSIVE,
		[OUTCOME_MEASURED] = EXIT_PASS,
		[OUTCOME_PASSED] = EXIT_PASS,
		[OUTCOME_EXCEEDED] = EXIT_EXCEEDED,
		[OUTCOME_INVALID] = EXIT_INCONCLUSIVE,
		[OUTCOME_INCONCLUSIVE] = EXIT_INCONCLUSIVE,
		[OUTCOME_SKIPPED] = EXIT_SKIPPED,
	};

	return codes[outcome];
}

static void put_invalid(FILE *out, const struct result *result)
{
	const struct series *series = incomplete(result);
	const struct asked *broken = asked_broken(&result->settings);

	if (series)
		fprintf(out, "CPU %d: %" PRIu64 " triggers, but %" PRIu64 " samples, %" PRIu64 " overflow and %" PRIu64 " missing: values were lost uncounted, no figure of this run is good",
			series->cpu, series->triggers, series_samples(series), series->overflow,
			series->missing);
	else
		fprintf(out, "%s %s was asked for and does not hold%s%s: what was measured is not what was asked for",
			broken->name, broken->asked ? broken->asked : "",
			broken->note ? ": " : "", broken->note ? broken->note : "");
}

static void put_limit(FILE *out, const struct limit *limit)
{
	char value[TERM_TIME], bound[TERM_TIME];

	fprintf(out, "%s is %s, limit %s", limit->name,
		limit->known ? term_time(value, limit->value_ns) : "not known",
		term_time(bound, limit->limit_ns));
}

/* Too few samples, or triggers without a value: what a verdict takes. */
static void put_unknown(FILE *out, const struct limit *limit)
{
	put_limit(out, limit);
	fprintf(out, ": neither held nor exceeded; a verdict takes %" PRIu64 " samples%s and no missing trigger",
		limit->needs, limit->above ? " or more" : "");
}

char *result_words(const struct result *result)
{
	enum outcome outcome = result_outcome(result);
	const struct limit *limit;
	size_t size, held = 0;
	char *text;
	FILE *out = text_open(&text, &size);

	fprintf(out, "%s: ", outcome_names[outcome]);
	switch (outcome) {
	case OUTCOME_RUNNING:
		fputs("not finished; if the command no longer runs, it was killed, and this is its result up to then",
		      out);
		break;
	case OUTCOME_MEASURED:
		fputs("no limit was given (--limit)", out);
		break;
	case OUTCOME_PASSED:
		for (size_t i = 0; i < result->nr_limits; i++) {
			if (!result->limits[i].hard)
				continue;
			fputs(held++ ? "; " : "", out);
			put_limit(out, &result->limits[i]);
		}
		break;
	case OUTCOME_EXCEEDED:
		put_limit(out, judged(result, LIMIT_EXCEEDED));
		break;
	case OUTCOME_INVALID:
		put_invalid(out, result);
		break;
	case OUTCOME_INCONCLUSIVE:
		limit = judged(result, LIMIT_UNKNOWN);
		if (limit)
			put_unknown(out, limit);
		else
			fputs("there is no sample", out);
		break;
	case OUTCOME_SKIPPED:
		fputs(result->skipped, out);
		break;
	}
	fclose(out);
	return text;
}

void result_free(struct result *result)
{
	for (size_t i = 0; i < result->nr_parts; i++) {
		for (size_t k = 0; k < result->parts[i].count; k++)
			free(result->parts[i].series[k]);
		free(result->parts[i].series);
	}
	asked_free(&result->settings);
	free(result->reason);
}

int result_save(const char *path, const struct result *result,
		void (*write)(FILE *out, const struct result *result))
{
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);
	int error;

	write(out, result);
	fclose(out);
	error = file_replace(path, text, size);
	free(text);
	return error;
}
