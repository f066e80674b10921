// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "options/value.h"
#include "sampling/limit.h"

const char *const limit_results[] = {
	[LIMIT_KEPT] = "held",
	[LIMIT_EXCEEDED] = "exceeded",
	[LIMIT_UNKNOWN] = "cannot say",
};

bool limit_parse(const char *text, const char *option, bool hard, struct limit *limit)
{
	size_t length = strcspn(text, "=");
	char *name = text_format("%.*s", (int)length, text);
	char percent[PERCENTILE_TEXT];
	bool good;

	*limit = (struct limit){ .hard = hard };
	if (!strcmp(name, "max")) {
		snprintf(limit->name, sizeof(limit->name), "max");
		good = true;
	} else {
		good = *name == 'p' && percentile_parse(name + 1, &limit->above);
		if (good)
			snprintf(limit->name, sizeof(limit->name), "p%.14s",
				 percentile_text(percent, limit->above));
	}
	free(name);
	if (good && text[length] && value_time(text + length + 1, "us", &limit->limit_ns))
		return true;
	error_say("--%s: \"%s\" is not max or a percentile, and a time, such as max=50us or p99.9=20us",
		  option, text);
	return false;
}

/* No trigger at all says that nothing was above, where only that is a trigger. */
static bool nothing_above(const struct series *series, uint64_t limit_ns)
{
	return !series->triggers && series->above_ns && limit_ns >= series->above_ns;
}

/* Of one series: its value, if known, and what it says. */
static enum limit_result judge_max(const struct limit *limit, const struct series *series,
				  bool *known, uint64_t *value)
{
	*known = series_any(series);
	*value = series->max;
	if (nothing_above(series, limit->limit_ns))
		return LIMIT_KEPT;
	if (*known && *value > limit->limit_ns)
		return LIMIT_EXCEEDED;
	return *known && !series->missing ? LIMIT_KEPT : LIMIT_UNKNOWN;
}

static enum limit_result judge_percentile(const struct limit *limit, const struct series *series,
					 bool *known, uint64_t *value)
{
	struct percentile found = percentile_find(series, limit->above);

	*known = found.known;
	*value = found.value_ns;
	if (nothing_above(series, limit->limit_ns))
		return LIMIT_KEPT;
	if (found.known && found.value_ns > limit->limit_ns)
		return LIMIT_EXCEEDED;
	return found.bounded && found.upper_ns <= limit->limit_ns ? LIMIT_KEPT : LIMIT_UNKNOWN;
}

void limit_judge(struct limit *limit, struct series *const *series, size_t count)
{
	limit->known = false;
	limit->value_ns = 0;
	limit->needs = limit->above ? percentile_needs(limit->above) : 1;
	limit->result = count ? LIMIT_KEPT : LIMIT_UNKNOWN;
	for (size_t i = 0; i < count; i++) {
		enum limit_result result;
		uint64_t value;
		bool known;

		if (series[i]->per_second)
			continue;
		result = limit->above ? judge_percentile(limit, series[i], &known, &value) :
			judge_max(limit, series[i], &known, &value);
		if (known && (!limit->known || value > limit->value_ns)) {
			limit->known = true;
			limit->value_ns = value;
		}
		if (result == LIMIT_EXCEEDED ||
		    (result == LIMIT_UNKNOWN && limit->result == LIMIT_KEPT))
			limit->result = result;
	}
}
