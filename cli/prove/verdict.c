// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ISOLATOR_NO_SHORT_NAMES
#include <isolator.h>

#include "base/error.h"
#include "base/text.h"
#include "prove/verdict.h"

#define LINE 85	/* columns, before "and more" */

const char *const verdict_names[] = {
	[VERDICT_QUIET] = "quiet",
	[VERDICT_NOT_QUIET] = "not quiet",
	[VERDICT_INCONCLUSIVE] = "inconclusive",
	[VERDICT_SKIPPED] = "skipped",
};

/* The first instrument that decides and is in @state; NULL: none is. */
static const struct instrument *decider(const struct spin *spin, enum instrument_state state)
{
	for (unsigned int i = 0; i < spin->nr_instruments; i++)
		if (spin->instruments[i].type->decides &&
		    instrument_state(&spin->instruments[i], spin->ticks) == state)
			return &spin->instruments[i];
	return NULL;
}

static bool came(const struct spin *spin)
{
	for (unsigned int i = 0; i < spin->nr_instruments; i++)
		if (instrument_saw(&spin->instruments[i], spin->ticks))
			return true;
	return spin->end;
}

enum verdict verdict_find(const struct watch *watch)
{
	const struct spin *spin = watch->spin;

	if (came(spin))
		return VERDICT_NOT_QUIET;
	if (decider(spin, INSTRUMENT_DEAD))
		return VERDICT_INCONCLUSIVE;
	if (decider(spin, INSTRUMENT_COUNTS))
		return VERDICT_QUIET;
	return decider(spin, INSTRUMENT_BLIND) ? VERDICT_INCONCLUSIVE : VERDICT_SKIPPED;
}

int verdict_exit(enum verdict verdict)
{
	static const int codes[] = {
		[VERDICT_QUIET] = EXIT_PASS,
		[VERDICT_NOT_QUIET] = EXIT_EXCEEDED,
		[VERDICT_INCONCLUSIVE] = EXIT_INCONCLUSIVE,
		[VERDICT_SKIPPED] = EXIT_SKIPPED,
	};

	return codes[verdict];
}

/* The class of @instrument that came most; NULL: none did. */
static const struct tally *most_of(const struct instrument *instrument)
{
	const struct tally *most = NULL;

	for (unsigned int i = 0; i < instrument->nr_tallies; i++) {
		const struct tally *tally = &instrument->tallies[i];

		if (tally_since(tally, WINDOW_FROM) &&
		    (!most || tally_since(tally, WINDOW_FROM) > tally_since(most, WINDOW_FROM)))
			most = tally;
	}
	return most;
}

/* The most frequent class of each instrument that saw something, as far as the line has room. */
static void put_came(FILE *out, const struct spin *spin)
{
	const char *comma = "";

	if (spin->end) {
		fprintf(out, "its isolation ended: %s", isolator_strend(spin->end));
		comma = ", ";
	}
	for (unsigned int i = 0; i < spin->nr_instruments; i++) {
		const struct instrument *instrument = &spin->instruments[i];
		const struct tally *most;
		char *text;
		bool room;

		if (!instrument_saw(instrument, spin->ticks))
			continue;
		most = most_of(instrument);
		text = text_format("%s%" PRIu64 " %s", comma, tally_since(most, WINDOW_FROM),
				   most->name);
		room = ftell(out) + (long)strlen(text) <= LINE;
		fputs(room ? text : ", and more", out);
		free(text);
		if (!room)
			break;
		comma = ", ";
		if (!*most->about)
			continue;
		text = text_format(" (%s)", most->about);
		if (ftell(out) + (long)strlen(text) <= LINE)
			fputs(text, out);
		free(text);
	}
}

void verdict_witnesses(FILE *out, const struct watch *watch)
{
	const struct spin *spin = watch->spin;
	const char *comma = "";

	for (unsigned int i = 0; i < spin->nr_instruments; i++) {
		if (instrument_state(&spin->instruments[i], spin->ticks) != INSTRUMENT_COUNTS ||
		    spin->instruments[i].aside)
			continue;
		fprintf(out, "%s%s", comma, spin->instruments[i].type->name);
		comma = ", ";
	}
}

char *verdict_words(const struct watch *watch)
{
	const struct spin *spin = watch->spin;
	const struct instrument *dead = decider(spin, INSTRUMENT_DEAD);
	enum verdict verdict = verdict_find(watch);
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	fprintf(out, "%s: CPU %d, %.3g s in user mode", verdict_names[verdict], spin->cpu,
		watch->seconds);
	switch (verdict) {
	case VERDICT_QUIET:
		fputs(": nothing interrupted it", out);
		break;
	case VERDICT_NOT_QUIET:
		fputs(": ", out);
		put_came(out, spin);
		break;
	case VERDICT_INCONCLUSIVE:
		if (dead)
			fprintf(out, ": %s does not count: its 0 proves nothing", dead->type->name);
		else
			fputs(": no instrument that counts tells the task's own ticks apart", out);
		break;
	case VERDICT_SKIPPED:
		fputs(": nothing here can count what interrupts it", out);
		break;
	}
	fclose(out);
	return text;
}
