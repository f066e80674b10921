// SPDX-License-Identifier: GPL-2.0-or-later
#include <inttypes.h>

#include "base/text.h"
#include "machine/instance.h"
#include "measure/hwlat.h"

#define DETECTOR INSTANCE_TRACEFS "/hwlat_detector/"
#define US 1000

enum { HWLAT_HW, HWLAT_NMI };

static void take(struct worker *worker, const struct tracer_line *line)
{
	if (line->what == TRACER_HWLAT)
		tracer_record(worker, line->count ? HWLAT_NMI : HWLAT_HW, line);
}

static bool open_reader(struct worker *worker)
{
	const struct tracer_options *options = worker->options;

	if (!tracer_open(worker))
		return false;
	worker->series[HWLAT_HW]->above_ns = worker->series[HWLAT_NMI]->above_ns =
		options->threshold_ns;
	return true;
}

static struct tracer_setting setting_of(const char *name, const char *path, uint64_t ns)
{
	return (struct tracer_setting){ name, path, SETTING_TEXT,
					text_format("%" PRIu64, ns / US), true };
}

void hwlat_set(struct tracer_options *options, uint64_t threshold_ns, uint64_t width_ns,
	       uint64_t window_ns)
{
	*options = (struct tracer_options){
		.tracer = "hwlat", .config = "CONFIG_HWLAT_TRACER", .threshold_ns = threshold_ns,
		.settings = {
			{ "mode", DETECTOR "mode", SETTING_CHOICE, text_format("per-cpu"), true },
			setting_of("window", DETECTOR "window", window_ns),
			setting_of("width", DETECTOR "width", width_ns),
			setting_of("tracing_thresh", INSTANCE_TRACEFS "/tracing_thresh", threshold_ns),
		},
	};
}

const struct tracer_method hwlat_method = {
	.method = {
		.name = "hwlat",
		.series = { "hw", "nmi" },
		.beside = true,
		.arm = tracer_arm,
		.disarm = tracer_disarm,
		.open = open_reader,
		.run = tracer_run,
		.close = tracer_close,
	},
	.take = take,
};
