// SPDX-License-Identifier: GPL-2.0-or-later
/* The spinner's own instruments, and the table of all. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "machine/counter.h"
#include "machine/machine.h"
#include "prove/spin.h"

#define CALIBRATIONS 32
#define INTEL_SMI_EVENT "/sys/bus/event_source/devices/msr"

/* A counter that was opened with @error, read in user mode if that can be. */
static bool take_counter(struct instrument *instrument, const struct counter *counter,
			 int error)
{
	uint64_t count;

	if (error) {
		instrument_absent(instrument, "%s", counter_error(error));
		return false;
	}
	instrument->file = counter->file;
	instrument->page = counter->page;
	if (!counter_read(counter->file, &count)) {
		instrument_absent(instrument, "%s", counter_error(EBUSY));
		return false;
	}
	instrument->user = counter_read_user(counter->page, &count);
	instrument->blunt = !instrument->user;
	return true;
}

static uint64_t read_counter(const struct instrument *instrument)
{
	uint64_t count = 0;

	/* One that cannot be read stays where it is, and is found to. */
	if (instrument->user)
		counter_read_user(instrument->page, &count);
	else
		counter_read(instrument->file, &count);
	return count;
}

static void sample_counter(struct instrument *instrument, enum point point,
			   const struct spin *spin)
{
	(void)spin;
	instrument->tallies->count[point] = read_counter(instrument);
}

/* What reading it by a system call adds to its count itself, at least and at most. */
static void measure_reading(const struct instrument *instrument, uint64_t *least,
			    uint64_t *most)
{
	*most = 0;
	*least = UINT64_MAX;
	for (int i = 0; i < CALIBRATIONS; i++) {
		uint64_t from = read_counter(instrument), cost = read_counter(instrument) - from;

		*most = cost > *most ? cost : *most;
		*least = cost < *least ? cost : *least;
	}
}

static void open_instructions(struct instrument *instrument, const struct spin *spin)
{
	struct counter counter;
	uint64_t least, most;

	if (!take_counter(instrument, &counter, counter_open_instructions(&counter, spin->cpu)))
		return;
	instrument_tally(instrument, "kernel instructions", "of the spinning thread");
	if (instrument->user)
		return;
	/* The most is taken off, the spread forgiven: what interrupts executes more. */
	measure_reading(instrument, &least, &most);
	instrument->tallies->own = most;
	instrument->slack = most - least;
	snprintf(instrument->note, sizeof(instrument->note),
		 "read by system calls, whose own %llu are taken off: user mode may not read it",
		 (unsigned long long)most);
}

static void open_taken(struct instrument *instrument, const struct spin *spin)
{
	uint64_t event = machine_interrupts_event(), least, most;
	struct counter counter;

	if (!event) {
		instrument_absent(instrument, "no event of this kind of CPU is known here");
		return;
	}
	if (!take_counter(instrument, &counter,
			  counter_open(&counter, counter_pmu(spin->cpu), event, false)))
		return;
	measure_reading(instrument, &least, &most);
	if (least && !instrument->user) {
		instrument_absent(instrument, "user mode may not read it, and it counts the system calls that do");
		return;
	}
	instrument_tally(instrument, "interrupts taken", "by the CPU's own count");
}

/* Intel's count in the kernel's PMU of registers; AMD's is an event of the CPU. */
static int open_smi_event(struct counter *counter, const struct spin *spin)
{
	uint64_t event = machine_smi_event();
	char type[16], config[32];

	if (event)
		return counter_open(counter, counter_pmu(spin->cpu), event, false);
	if (!file_word(type, sizeof(type), INTEL_SMI_EVENT "/type") ||
	    !file_word(config, sizeof(config), INTEL_SMI_EVENT "/events/smi") ||
	    strncmp(config, "event=", 6))
		return ENOENT;
	return counter_open(counter, (uint32_t)strtoul(type, NULL, 10),
			    strtoull(config + 6, NULL, 0), false);
}

static void open_smi(struct instrument *instrument, const struct spin *spin)
{
	struct counter counter;
	uint64_t count;

	if (!open_smi_event(&counter, spin)) {
		instrument->file = counter.file;
		instrument->page = counter.page;
	} else {
		instrument->file = machine_open_smi(spin->cpu);
		if (instrument->file < 0 || !machine_smi(instrument->file, &count)) {
			instrument_absent(instrument, "neither a counter nor a register of this machine has it");
			return;
		}
		instrument->at_register = true;
	}
	instrument_tally(instrument, "SMI", "the firmware took the CPU");
}

static void sample_smi(struct instrument *instrument, enum point point,
		       const struct spin *spin)
{
	uint64_t *count = &instrument->tallies->count[point];

	(void)spin;
	if (!instrument->at_register)
		counter_read(instrument->file, count);
	else
		machine_smi(instrument->file, count);
}

static void open_switches(struct instrument *instrument, const struct spin *spin)
{
	(void)spin;
	instrument_tally(instrument, "voluntary", "switches: it waited in the kernel");
	instrument_tally(instrument, "involuntary", "switches: another task ran, or the kernel stopped this one");
}

static void open_faults(struct instrument *instrument, const struct spin *spin)
{
	(void)spin;
	instrument_tally(instrument, "minor", "page faults");
	instrument_tally(instrument, "major", "page faults that waited for a disk");
}

/* The thread's switches, or its faults: the two tallies of either. */
static void sample_usage(struct instrument *instrument, enum point point,
			 const struct spin *spin)
{
	bool switches = instrument->type->open == open_switches;
	struct rusage usage;

	(void)spin;
	getrusage(RUSAGE_THREAD, &usage);
	instrument->tallies[0].count[point] =
		(uint64_t)(switches ? usage.ru_nvcsw : usage.ru_minflt);
	instrument->tallies[1].count[point] =
		(uint64_t)(switches ? usage.ru_nivcsw : usage.ru_majflt);
}

static void open_gaps(struct instrument *instrument, const struct spin *spin)
{
	instrument->user = true;
	instrument->aside = !spin->strict && machine_is_virtual();
	if (instrument->aside)
		snprintf(instrument->note, sizeof(instrument->note),
			 "unused in a VM without --threshold");
	instrument_tally(instrument, "pauses", "of the loop, longer than the threshold");
}

static void sample_gaps(struct instrument *instrument, enum point point,
			const struct spin *spin)
{
	instrument->tallies->count[point] = spin->gaps.count + spin->probe.count;
}

static const struct instrument_type
switches = {
	.name = "context switches",
	.reader = READ_BY_SPINNER,
	.provoked = true,
	.open = open_switches,
	.sample = sample_usage,
},
faults = {
	.name = "page faults",
	.reader = READ_BY_SPINNER,
	.provoked = true,
	.open = open_faults,
	.sample = sample_usage,
},
gaps = {
	.name = "gaps",
	.reader = READ_BY_SPINNER,
	.provoked = true,
	.open = open_gaps,
	.sample = sample_gaps,
};

const struct instrument_type instrument_instructions = {
	.name = "kernel instructions",
	.reader = READ_BY_SPINNER,
	.decides = true,
	.provoked = true,
	.open = open_instructions,
	.sample = sample_counter,
};

const struct instrument_type instrument_taken = {
	.name = "interrupts taken",
	.reader = READ_BY_SPINNER,
	.provoked = true,
	.open = open_taken,
	.sample = sample_counter,
};

const struct instrument_type instrument_smi = {
	.name = "SMI",
	.reader = READ_BY_SPINNER,
	.open = open_smi,
	.sample = sample_smi,
};

/* The spinner reads the later ones nearer to the window. */
const struct instrument_type *const instruments[] = {
	&instrument_isolator,
	&instrument_interrupts,
	&instrument_softirqs,
	&faults,
	&switches,
	&instrument_smi,
	&instrument_taken,
	&instrument_instructions,
	&gaps,
	NULL,
};
