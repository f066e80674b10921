// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"
#include "base/root.h"
#include "statistics/hist.h"
#include "statistics/timebase.h"

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define CALIBRATION_NS UINT64_C(20000000)
#define LOOKS 20000

const char *const timebase_names[] = {
	[TIMEBASE_TSC] = "tsc",
	[TIMEBASE_CNTVCT] = "cntvct",
	[TIMEBASE_MONOTONIC] = "monotonic",
	[TIMEBASE_TRACER] = "tracer",
};

#if defined(__x86_64__)
#define BEST TIMEBASE_TSC
#define LEAF_POWER 0x80000007U
#define TSC_INVARIANT (1U << 8)

/* False, and @timebase says why: it is not the same on all CPUs at all times. */
static bool trusted(struct timebase *timebase, const char *root)
{
	unsigned int eax, ebx, ecx, edx;
	bool good = false;
	size_t size;
	char *source;

	if (!__get_cpuid(LEAF_POWER, &eax, &ebx, &ecx, &edx) || !(edx & TSC_INVARIANT)) {
		snprintf(timebase->note, sizeof(timebase->note),
			 "the CPU does not say that its TSC always counts at one rate");
		return false;
	}
	source = root_read(root, CLOCKSOURCE, &size);
	if (!source) {
		snprintf(timebase->note, sizeof(timebase->note),
			 "it is not known whether the kernel trusts the TSC: " CLOCKSOURCE " cannot be read");
	} else {
		source[strcspn(source, "\n")] = '\0';
		good = !strcmp(source, "tsc");
		if (!good)
			snprintf(timebase->note, sizeof(timebase->note),
				 "the kernel does not use the TSC, its clocksource is %.40s", source);
	}
	free(source);
	return good;
}
#elif defined(__aarch64__)
#define BEST TIMEBASE_CNTVCT

/* The architecture says so. */
static bool trusted(struct timebase *timebase, const char *root)
{
	(void)timebase;
	(void)root;
	return true;
}
#endif

static void calibrate(struct timebase *timebase)
{
	uint64_t from, from_ns;

	cycles_pair(&from, &from_ns);
	while (wait_clock_ns() - from_ns < CALIBRATION_NS)
		;
	cycles_pair(&timebase->base, &timebase->base_ns);
	timebase->per_ns = (double)(timebase->base - from) /
		(double)(timebase->base_ns - from_ns);
}

/* What two looks are apart, when nothing is done between them. */
static void look_often(struct timebase *timebase)
{
	struct hist *looks = malloc(hist_size(HIST_DIGITS_MIN));
	uint64_t before, now, seen = 0, step = UINT64_MAX;

	if (!looks)
		error_no_memory();
	hist_init(looks, HIST_DIGITS_MIN);
	timebase->floor_min_ns = UINT64_MAX;
	timebase->floor_max_ns = 0;
	before = timebase_look(timebase);
	for (int i = 0; i < LOOKS; i++, before = now) {
		uint64_t ns;

		now = timebase_look(timebase);
		ns = timebase_ns(timebase, now - before);
		if (now > before && now - before < step)
			step = now - before;
		if (now < before || ns > HIST_HIGHEST)
			continue;
		hist_add(looks, ns);
		if (ns < timebase->floor_min_ns)
			timebase->floor_min_ns = ns;
		if (ns > timebase->floor_max_ns)
			timebase->floor_max_ns = ns;
	}
	timebase->resolution_ns = (double)step / timebase->per_ns;
	for (size_t i = 0; i < looks->length && seen <= LOOKS / 2; i++) {
		seen += looks->counts[i];
		timebase->floor_p50_ns = hist_high(looks, i);
	}
	if (timebase->floor_p50_ns > timebase->floor_max_ns)
		timebase->floor_p50_ns = timebase->floor_max_ns;
	free(looks);
}

void timebase_open(struct timebase *timebase, const char *root)
{
	*timebase = (struct timebase){ .kind = BEST, .per_ns = 1 };
	if (trusted(timebase, root))
		calibrate(timebase);
	else
		timebase->kind = TIMEBASE_MONOTONIC;
	look_often(timebase);
}

void timebase_open_monotonic(struct timebase *timebase, const char *note)
{
	*timebase = (struct timebase){ .kind = TIMEBASE_MONOTONIC, .per_ns = 1 };
	snprintf(timebase->note, sizeof(timebase->note), "%s", note);
	look_often(timebase);
}

void timebase_open_tracer(struct timebase *timebase, double step_ns)
{
	*timebase = (struct timebase){ .kind = TIMEBASE_TRACER, .per_ns = 1,
				       .resolution_ns = step_ns };
	snprintf(timebase->note, sizeof(timebase->note),
		 "the kernel's tracer measures; what its own loop takes is not known");
}

uint64_t timebase_at_ns(const struct timebase *timebase, uint64_t look)
{
	/* With its sign: a look may be older than the calibration. */
	return timebase->base_ns + (uint64_t)(int64_t)
		((double)(int64_t)(look - timebase->base) / timebase->per_ns);
}
