// SPDX-License-Identifier: GPL-2.0-or-later
/* The instruments that are the kernel's own counts of interrupts and softirqs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "machine/look.h"
#include "prove/spin.h"

/* At the last point at which something begins: one that ends has what came since. */
static struct interrupts begun[LOOK_LISTS];

static enum look_list list_of(const struct instrument *instrument)
{
	return instrument->type == &instrument_softirqs ? LOOK_SOFTIRQS : LOOK_INTERRUPTS;
}

/* One that has counted nothing since power-on has none. */
static struct tally *tally_of(struct instrument *instrument, const struct interrupt *row)
{
	char *name = text_format("%s%s", text_is_number(row->label) ? "irq " : "", row->label);
	struct tally *tally;

	tally = instrument_tally(instrument, name, list_of(instrument) == LOOK_SOFTIRQS ?
				 "softirq" : interrupt_name(row));
	free(name);
	return tally;
}

bool instrument_take_irqs(struct instrument *instrument, enum point point, char *text, int cpu)
{
	struct interrupts *before = &begun[list_of(instrument)], now, came;
	struct cpulist cpus = { 0 };

	cpulist_add(&cpus, cpu);
	if (!interrupts_parse(&now, text, &cpus))
		return false;
	for (size_t i = 0; i < now.count; i++)
		if (now.rows[i].count)
			tally_of(instrument, &now.rows[i]);
	if (point % 2) {
		interrupts_between(&came, before, &now, INTERRUPTS_MOST);
		for (size_t i = 0; i < came.count; i++)
			if (came.rows[i].count)
				tally_of(instrument, &came.rows[i])->count[point] +=
					came.rows[i].count;
		interrupts_free(&came);
		interrupts_free(&now);
	} else {
		interrupts_free(before);
		*before = now;
	}
	return true;
}

static void take_file(struct instrument *instrument, enum point point, const struct spin *spin)
{
	const char *path = look_paths[list_of(instrument)];
	size_t size;
	char *text = file_read(path, &size);

	if (!text)
		instrument_absent(instrument, "%s: %s", path, strerror(errno));
	else if (!instrument_take_irqs(instrument, point, text, spin->cpu))
		instrument_absent(instrument, "%s has no CPU %d", path, spin->cpu);
	free(text);
}

const struct instrument_type instrument_interrupts = {
	.name = "interrupts",
	.reader = READ_BY_WATCHER,
	.decides = true,
	.provoked = true,
	.mixes = true,
	.sample = take_file,
};

const struct instrument_type instrument_softirqs = {
	.name = "softirqs",
	.reader = READ_BY_WATCHER,
	.provoked = true,
	.mixes = true,
	.sample = take_file,
};
