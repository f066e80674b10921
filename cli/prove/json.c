// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#define ISOLATOR_NO_SHORT_NAMES
#include <isolator.h>

#include "machine/machine.h"
#include "proc/proc.h"
#include "proc/json.h"
#include "prove/prove.h"
#include "prove/verdict.h"

static void put_isolation(struct json *json, const struct spin *spin)
{
	if (!json_open_if(json, "isolation", '{', spin->how == SPIN_ISOLATED))
		return;
	json_number(json, "mask", spin->mask);
	json_number(json, "got", spin->got);
	json_number(json, "deadline_ns", spin->deadline_ns);
	json_number(json, "spin_ns", spin->bound_ns);
	json_number(json, "yield_ns", spin->yield_ns);
	json_number(json, "ticks", spin->ticks);
	json_string(json, "ended", spin->end ? isolator_strend(spin->end) : NULL);
	json_close(json, '}');
}

static void put_counts(struct json *json, uint64_t before, uint64_t window, uint64_t after)
{
	json_number(json, "before", before);
	json_number(json, "window", window);
	json_number(json, "after", after);
}

static void put_instrument(struct json *json, const struct instrument *instrument,
			   uint64_t ticks)
{
	enum instrument_state state = instrument_state(instrument, ticks);

	json_open(json, NULL, '{');
	json_string(json, "name", instrument->type->name);
	json_string(json, "state", instrument_states[state]);
	json_bool(json, "decides", instrument->type->decides);
	json_bool(json, "saw", instrument_saw(instrument, ticks));
	json_string(json, "note", *instrument->absent ? instrument->absent :
		    *instrument->note ? instrument->note : NULL);
	json_bool(json, "user_mode", instrument->user);
	put_counts(json, instrument_since(instrument, BEFORE_FROM),
		   instrument_since(instrument, WINDOW_FROM),
		   instrument_since(instrument, AFTER_FROM));
	json_open(json, "classes", '[');
	for (unsigned int i = 0; i < instrument->nr_tallies; i++) {
		const struct tally *tally = &instrument->tallies[i];

		json_open(json, NULL, '{');
		json_string(json, "name", tally->name);
		json_string(json, "about", tally->about);
		put_counts(json, tally_since(tally, BEFORE_FROM), tally_since(tally, WINDOW_FROM),
			   tally_since(tally, AFTER_FROM));
		json_number(json, "own", tally->own);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void put_gaps(struct json *json, const struct spin *spin)
{
	uint64_t from_ns = GAPS_FIRST_NS;

	json_open(json, "gaps", '{');
	json_number(json, "threshold_ns", spin->threshold_ns);
	json_number(json, "count", spin->gaps.count);
	json_number(json, "longest_ns", gaps_ns(&spin->scale, spin->gaps.longest));
	json_number(json, "least_ns", gaps_ns(&spin->scale, spin->gaps.least));
	json_open(json, "histogram", '[');
	for (int i = 0; i < GAPS_CLASSES; i++, from_ns *= 10) {
		json_open(json, NULL, '{');
		json_number(json, "from_ns", from_ns);
		json_number(json, "count", spin->gaps.classes[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

void prove_json(FILE *out, const struct prove_view *view)
{
	const struct spin *spin = view->watch->spin;
	enum verdict verdict = verdict_find(view->watch);
	char *words = verdict_words(view->watch);
	struct json json = { .out = out };

	proc_json_head(&json, "isolator.prove");
	json_integer(&json, "cpu", spin->cpu);
	json_string(&json, "verdict", verdict_names[verdict]);
	json_integer(&json, "exit", verdict_exit(verdict));
	json_string(&json, "words", words);
	json_real(&json, "seconds", view->watch->seconds);
	json_bool(&json, "early", view->watch->early);
	json_string(&json, "how", prove_how(spin->how));
	json_bool(&json, "locked", spin->locked);
	json_bool(&json, "virtual", machine_is_virtual());
	put_isolation(&json, spin);
	json_open(&json, "instruments", '[');
	for (unsigned int i = 0; i < spin->nr_instruments; i++)
		put_instrument(&json, &spin->instruments[i], spin->ticks);
	json_close(&json, ']');
	put_gaps(&json, spin);
	json_document_end(&json);
	free(words);
}
