// SPDX-License-Identifier: GPL-2.0-or-later
/* The instruments that are the kernel's own counts of interrupts and softirqs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "machine/interrupts.h"
#include "prove/spin.h"

static void take_row(struct instrument *instrument, enum point point,
		     const struct interrupt *row)
{
	bool device = text_is_number(row->label);
	bool softirq = instrument->type == &instrument_softirqs;
	char *name = text_format("%s%s", device ? "irq " : "", row->label);

	instrument_tally(instrument, name, softirq ? "softirq" : interrupt_name(row))->count[point] +=
		row->count;
	free(name);
}

bool instrument_take_irqs(struct instrument *instrument, enum point point, char *text, int cpu)
{
	struct interrupts interrupts;
	struct cpulist cpus = { 0 };

	cpulist_add(&cpus, cpu);
	if (!interrupts_parse(&interrupts, text, &cpus))
		return false;
	for (unsigned int i = 0; i < instrument->nr_tallies; i++)
		instrument->tallies[i].count[point] = 0;
	for (size_t i = 0; i < interrupts.count; i++)
		if (interrupts.rows[i].count)
			take_row(instrument, point, &interrupts.rows[i]);
	interrupts_free(&interrupts);
	/* A line that is gone came to nobody. */
	for (unsigned int i = 0; point % 2 && i < instrument->nr_tallies; i++)
		if (!instrument->tallies[i].count[point])
			instrument->tallies[i].count[point] =
				instrument->tallies[i].count[point - 1];
	return true;
}

static void take_file(struct instrument *instrument, enum point point, const char *path,
		      int cpu)
{
	size_t size;
	char *text = file_read(path, &size);

	if (!text)
		instrument_absent(instrument, "%s: %s", path, strerror(errno));
	else if (!instrument_take_irqs(instrument, point, text, cpu))
		instrument_absent(instrument, "%s has no CPU %d", path, cpu);
	free(text);
}

static void sample_interrupts(struct instrument *instrument, enum point point,
			      const struct spin *spin)
{
	take_file(instrument, point, INTERRUPTS_PATH, spin->cpu);
}

static void sample_softirqs(struct instrument *instrument, enum point point,
			    const struct spin *spin)
{
	take_file(instrument, point, SOFTIRQS_PATH, spin->cpu);
}

const struct instrument_type instrument_interrupts = {
	.name = "interrupts",
	.reader = READ_BY_WATCHER,
	.decides = true,
	.provoked = true,
	.mixes = true,
	.sample = sample_interrupts,
};

const struct instrument_type instrument_softirqs = {
	.name = "softirqs",
	.reader = READ_BY_WATCHER,
	.provoked = true,
	.mixes = true,
	.sample = sample_softirqs,
};
