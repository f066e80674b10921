// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ISOLATOR_NO_SHORT_NAMES
#include <isolator.h>

#include "base/error.h"
#include "base/text.h"
#include "prove/verdict.h"

#define NAMED 3	/* classes of each instrument, in the line */

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

static int more_first(const void *left, const void *right)
{
	uint64_t a = tally_since(*(const struct tally *const *)left, WINDOW_FROM);
	uint64_t b = tally_since(*(const struct tally *const *)right, WINDOW_FROM);

	return (a < b) - (a > b);
}

/* The classes of one instrument that came most. */
static void put_classes(FILE *out, const struct instrument *instrument, const char **comma)
{
	const struct tally *worst[INSTRUMENT_TALLIES];
	unsigned int n = instrument->nr_tallies, i;

	for (i = 0; i < n; i++)
		worst[i] = &instrument->tallies[i];
	qsort(worst, n, sizeof(*worst), more_first);
	for (i = 0; i < n && tally_since(worst[i], WINDOW_FROM); i++) {
		if (i == NAMED) {
			fprintf(out, "%sother %s", *comma, instrument->type->name);
			break;
		}
		fprintf(out, "%s%" PRIu64 " %s", *comma, tally_since(worst[i], WINDOW_FROM),
			worst[i]->name);
		if (*worst[i]->about)
			fprintf(out, " (%s)", worst[i]->about);
		*comma = ", ";
	}
}

static void put_came(FILE *out, const struct spin *spin)
{
	const char *comma = "";

	for (unsigned int i = 0; i < spin->nr_instruments; i++)
		if (instrument_saw(&spin->instruments[i], spin->ticks))
			put_classes(out, &spin->instruments[i], &comma);
	if (spin->end)
		fprintf(out, "%sits isolation ended: %s", comma,
			isolator_strend(spin->end));
}

/* Those whose 0 is a proof. */
static void put_witnesses(FILE *out, const struct spin *spin)
{
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
		fputs(", nothing interrupted it; seen to count before and after: ", out);
		put_witnesses(out, spin);
		break;
	case VERDICT_NOT_QUIET:
		fputs(": ", out);
		put_came(out, spin);
		break;
	case VERDICT_INCONCLUSIVE:
		if (dead)
			fprintf(out, ": %s does not count: a deliberate kernel entry did not move it, so its 0 says nothing",
				dead->type->name);
		else
			fputs(": no instrument that counts tells the task's own ticks apart", out);
		break;
	case VERDICT_SKIPPED:
		fputs(": nothing here can count what interrupts it: no counter of the CPU (PMU), no /proc/interrupts, no Isolator",
		      out);
		break;
	}
	fclose(out);
	return text;
}
