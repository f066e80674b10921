// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "options/value.h"
#include "sampling/gate.h"

const char *const gate_results[] = {
	[GATE_HELD] = "held",
	[GATE_EXCEEDED] = "exceeded",
	[GATE_UNKNOWN] = "cannot say",
};

bool gate_parse(const char *text, const char *option, bool hard, struct gate *gate)
{
	size_t length = strcspn(text, "=");
	char *name = text_format("%.*s", (int)length, text);
	char percent[PERCENTILE_TEXT];
	bool good;

	*gate = (struct gate){ .hard = hard };
	if (!strcmp(name, "max")) {
		snprintf(gate->name, sizeof(gate->name), "max");
		good = true;
	} else {
		good = *name == 'p' && percentile_parse(name + 1, &gate->above);
		if (good)
			snprintf(gate->name, sizeof(gate->name), "p%.14s",
				 percentile_text(percent, gate->above));
	}
	free(name);
	if (good && text[length] && value_time(text + length + 1, "us", &gate->limit_ns))
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
static enum gate_result judge_max(const struct gate *gate, const struct series *series,
				  bool *known, uint64_t *value)
{
	*known = series_any(series);
	*value = series->max;
	if (nothing_above(series, gate->limit_ns))
		return GATE_HELD;
	if (*known && *value > gate->limit_ns)
		return GATE_EXCEEDED;
	return *known && !series->missing ? GATE_HELD : GATE_UNKNOWN;
}

static enum gate_result judge_percentile(const struct gate *gate, const struct series *series,
					 bool *known, uint64_t *value)
{
	struct percentile found = percentile_find(series, gate->above);

	*known = found.known;
	*value = found.value_ns;
	if (nothing_above(series, gate->limit_ns))
		return GATE_HELD;
	if (found.known && found.value_ns > gate->limit_ns)
		return GATE_EXCEEDED;
	return found.bounded && found.upper_ns <= gate->limit_ns ? GATE_HELD : GATE_UNKNOWN;
}

void gate_judge(struct gate *gate, struct series *const *series, size_t count)
{
	gate->known = false;
	gate->value_ns = 0;
	gate->needs = gate->above ? percentile_needs(gate->above) : 1;
	gate->result = count ? GATE_HELD : GATE_UNKNOWN;
	for (size_t i = 0; i < count; i++) {
		enum gate_result result;
		uint64_t value;
		bool known;

		if (series[i]->per_second)
			continue;
		result = gate->above ? judge_percentile(gate, series[i], &known, &value) :
			judge_max(gate, series[i], &known, &value);
		if (known && (!gate->known || value > gate->value_ns)) {
			gate->known = true;
			gate->value_ns = value;
		}
		if (result == GATE_EXCEEDED ||
		    (result == GATE_UNKNOWN && gate->result == GATE_HELD))
			gate->result = result;
	}
}
