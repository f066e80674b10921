// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator measure hardware: what takes the CPU from the kernel itself? */
#include <stdlib.h>

#include "base/error.h"
#include "measure/hwlat.h"
#include "measure/measure.h"

#define US UINT64_C(1000)
#define WINDOW_NS WAIT_SECOND
#define THRESHOLD_NS (10 * US)	/* the kernel's own */
#define WIDTH_MAX_NS WAIT_SECOND

static struct tracer_options hwlat;

static int prepare(const struct measure_options *options, struct order *order,
		   struct result *result)
{
	uint64_t window_ns = options->period_ns ? options->period_ns : WINDOW_NS;
	uint64_t width_ns = options->width_ns ? options->width_ns : window_ns / 2;
	uint64_t threshold_ns = options->gap_ns ? options->gap_ns : THRESHOLD_NS;

	if (width_ns < US || width_ns > window_ns - US || width_ns > WIDTH_MAX_NS)
		return error_say("--width: it must be from 1us to less than --period (%d us), at most 1s; interrupts are off for this time",
				 (int)(window_ns / US)), -1;
	if (threshold_ns < US)
		return error_say("--threshold: the kernel counts whole us here, give at least 1us"), -1;
	hwlat_set(&hwlat, threshold_ns, width_ns, window_ns);
	order->method = &hwlat_method.method;
	order->options = &hwlat;
	order->step_ns = HWLAT_STEP_NS;
	result->method = order->method->name;
	result->threshold_ns = threshold_ns;
	return 0;
}

static void done(void)
{
	tracer_free(&hwlat);
}

const struct measure hardware_measure = {
	.name = "hardware",
	.what = "gaps with interrupts off",
	.one = true,
	.policy = POLICY_OTHER,
	.prepare = prepare,
	.done = done,
};
