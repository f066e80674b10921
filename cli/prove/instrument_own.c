// SPDX-License-Identifier: GPL-2.0-or-later
/* The instrument that is Isolator's own count of what it could not keep away. */
#include <stdio.h>
#include <stdlib.h>

#include "proc/ranked.h"
#include "proc/proc.h"
#include "prove/spin.h"

static const enum count kinds[] = { MISSED, IMMEDIATE };

static void open_own(struct instrument *instrument, const struct spin *spin)
{
	if (!spin->isolate) {
		instrument_absent(instrument, "it does not isolate this CPU");
		return;
	}
	instrument_tally(instrument, count_names[MISSED], "a deadline passed");
	instrument_tally(instrument, count_names[IMMEDIATE], "always delivered at once");
}

/* Who was the last of each kind. */
static void name_last(struct instrument *instrument, const struct proc_cpu *cpu)
{
	for (size_t i = 0; i < cpu->nr_deliveries; i++) {
		const struct proc_delivery *delivery = &cpu->deliveries[i];
		struct tally *tally = &instrument->tallies[delivery->immediate];
		char *deed = sender_deed(delivery->named ? delivery->comm : "somebody",
					 delivery->kind, delivery->callback);

		snprintf(tally->about, sizeof(tally->about), "%s", deed);
		free(deed);
	}
}

/* A start begins them at 0: the points of each pair are in one isolation. */
static void sample_own(struct instrument *instrument, enum point point,
		       const struct spin *spin)
{
	struct proc_sample sample;
	const struct proc_cpu *cpu;

	if (proc_read(spin->directory, point == WINDOW_TO, &sample)) {
		instrument_absent(instrument, "its files cannot be read");
		return;
	}
	cpu = proc_cpu(&sample, spin->cpu);
	for (unsigned int i = 0; i < instrument->nr_tallies; i++)
		instrument->tallies[i].count[point] = cpu ? cpu->total.n[kinds[i]] : 0;
	if (cpu && point == WINDOW_TO)
		name_last(instrument, cpu);
	proc_free(&sample);
}

const struct instrument_type instrument_isolator = {
	.name = "Isolator",
	.reader = READ_BY_WATCHER,
	.decides = true,
	.provoked = true,
	.open = open_own,
	.sample = sample_own,
};
