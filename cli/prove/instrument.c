// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "prove/instrument.h"

const char *const instrument_states[INSTRUMENT_STATES] = {
	[INSTRUMENT_ABSENT] = "absent",
	[INSTRUMENT_DEAD] = "does not count",
	[INSTRUMENT_UNPROVEN] = "cannot be provoked",
	[INSTRUMENT_BLIND] = "cannot tell ticks apart",
	[INSTRUMENT_COUNTS] = "counts",
};

struct tally *instrument_tally(struct instrument *instrument, const char *name,
			       const char *about)
{
	struct tally *tally = instrument->tallies;
	unsigned int i;

	for (i = 0; i < instrument->nr_tallies; i++, tally++)
		if (!strncmp(tally->name, name, sizeof(tally->name) - 1))
			return tally;
	if (i == INSTRUMENT_TALLIES)
		return tally - 1;
	instrument->nr_tallies++;
	if (i == INSTRUMENT_TALLIES - 1) {
		name = "others";
		about = "more than there is room for";
	}
	snprintf(tally->name, sizeof(tally->name), "%s", name);
	snprintf(tally->about, sizeof(tally->about), "%s", about);
	return tally;
}

uint64_t tally_since(const struct tally *tally, enum point from)
{
	uint64_t since = tally->count[from + 1] - tally->count[from];

	if (from != WINDOW_FROM)
		return since;
	return since > tally->own ? since - tally->own : 0;
}

uint64_t instrument_since(const struct instrument *instrument, enum point from)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < instrument->nr_tallies; i++)
		sum += tally_since(&instrument->tallies[i], from);
	return from == WINDOW_FROM && sum <= instrument->slack ? 0 : sum;
}

enum instrument_state instrument_state(const struct instrument *instrument, uint64_t ticks)
{
	if (*instrument->absent)
		return INSTRUMENT_ABSENT;
	if (!instrument->type->provoked)
		return INSTRUMENT_UNPROVEN;
	if (!instrument_since(instrument, BEFORE_FROM) ||
	    !instrument_since(instrument, AFTER_FROM))
		return INSTRUMENT_DEAD;
	if (ticks && (instrument->type->mixes || instrument->blunt))
		return INSTRUMENT_BLIND;
	return INSTRUMENT_COUNTS;
}

bool instrument_saw(const struct instrument *instrument, uint64_t ticks)
{
	enum instrument_state state = instrument_state(instrument, ticks);

	return (state == INSTRUMENT_COUNTS || state == INSTRUMENT_UNPROVEN) &&
		!instrument->aside && instrument_since(instrument, WINDOW_FROM);
}

void instrument_own(struct instrument *instrument)
{
	for (unsigned int i = 0; i < instrument->nr_tallies; i++)
		instrument->tallies[i].own += tally_since(&instrument->tallies[i], TICK_FROM);
}

void instrument_absent(struct instrument *instrument, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(instrument->absent, sizeof(instrument->absent), format, arguments);
	va_end(arguments);
}
