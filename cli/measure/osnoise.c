// SPDX-License-Identifier: GPL-2.0-or-later
/* Noise by class, as the tracer osnoise tells it: of its own loop, or of any program. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/instance.h"
#include "measure/osnoise.h"

#define OSNOISE INSTANCE_TRACEFS "/osnoise/"
#define PERIOD_US "1000000"	/* and all of it runs */
#define PERIODS 3		/* one has to have ended by then */
#define US 1000

enum { NOISE_ALL, NOISE_HW, NOISE_NMI, NOISE_IRQ, NOISE_SOFTIRQ, NOISE_THREAD, NOISE_LOST };
/* Without a loop of its own it does not know what is lost. */
enum { OF_NMI, OF_IRQ, OF_SOFTIRQ, OF_THREAD };

static void take(struct worker *worker, const struct tracer_line *line)
{
	switch (line->what) {
	case TRACER_GAP:
		tracer_record(worker, NOISE_ALL, line);
		if (!line->count)
			tracer_record(worker, NOISE_HW, line);
		break;
	case TRACER_NMI:
		tracer_record(worker, NOISE_NMI, line);
		break;
	case TRACER_IRQ:
		tracer_record(worker, NOISE_IRQ, line);
		break;
	case TRACER_SOFTIRQ:
		tracer_record(worker, NOISE_SOFTIRQ, line);
		break;
	case TRACER_THREAD:
		tracer_record(worker, NOISE_THREAD, line);
		break;
	case TRACER_PERIOD:
		tracer_record(worker, NOISE_LOST, line);
		break;
	default:
		break;
	}
}

/* Is @tid a thread of the program, or that which runs where none does? */
static bool is_own(pid_t program, pid_t tid)
{
	char path[64];

	if (!tid)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)program, (int)tid);
	return !access(path, F_OK);
}

static void take_of(struct worker *worker, const struct tracer_line *line)
{
	const struct tracer_options *options = worker->options;

	switch (line->what) {
	case TRACER_NMI:
		tracer_record(worker, OF_NMI, line);
		break;
	case TRACER_IRQ:
		tracer_record(worker, OF_IRQ, line);
		break;
	case TRACER_SOFTIRQ:
		tracer_record(worker, OF_SOFTIRQ, line);
		break;
	case TRACER_THREAD:
		if (!is_own(options->program, line->pid))
			tracer_record(worker, OF_THREAD, line);
		break;
	default:
		break;
	}
}

/* What is shorter than the threshold of its loop is none of it; classes have no threshold. */
static bool open_loop(struct worker *worker)
{
	const struct tracer_options *options = worker->options;

	if (!tracer_open(worker))
		return false;
	worker->series[NOISE_ALL]->above_ns = worker->series[NOISE_HW]->above_ns =
		options->threshold_ns;
	for (int i = NOISE_NMI; i <= NOISE_THREAD; i++)
		worker->series[i]->above_ns = 1;
	worker->series[NOISE_LOST]->per_second = true;
	worker->series[NOISE_LOST]->ring = NULL;
	return true;
}

static bool open_of(struct worker *worker)
{
	if (!tracer_open(worker))
		return false;
	for (int i = OF_NMI; i <= OF_THREAD; i++)
		worker->series[i]->above_ns = 1;
	return true;
}

/* It says each second what was lost: if it does not, it does not run. */
static void run_loop(struct worker *worker)
{
	tracer_run(worker);
	if (!worker->series[NOISE_LOST]->triggers &&
	    wait_clock_ns() > worker->begin_ns + PERIODS * WAIT_SECOND)
		tracer_lose(worker, 1);
}

void osnoise_set(struct tracer_options *options, const struct cpulist *cpus,
		 uint64_t threshold_ns, pid_t program)
{
	*options = (struct tracer_options){
		.tracer = "osnoise", .config = "CONFIG_OSNOISE_TRACER", .events = "osnoise:*",
		.threshold_ns = threshold_ns, .program = program,
		.settings = {
			{ "cpus", OSNOISE "cpus", SETTING_LIST, cpulist_text(cpus), true },
			{ "period_us", OSNOISE "period_us", SETTING_TEXT, text_format(PERIOD_US),
			  true },
			{ "runtime_us", OSNOISE "runtime_us", SETTING_TEXT, text_format(PERIOD_US),
			  true },
			/* Others may have asked it to stop by itself. */
			{ "stop_tracing_us", OSNOISE "stop_tracing_us", SETTING_TEXT,
			  text_format("0"), true },
			{ "stop_tracing_total_us", OSNOISE "stop_tracing_total_us", SETTING_TEXT,
			  text_format("0"), true },
			{ "tracing_thresh", INSTANCE_TRACEFS "/tracing_thresh", SETTING_TEXT,
			  text_format("%" PRIu64, threshold_ns / US), true },
			/* Before Linux 6.2 it always has its loop. */
			{ "workload", OSNOISE "options", SETTING_SWITCH,
			  text_format(program ? "NO_OSNOISE_WORKLOAD" : "OSNOISE_WORKLOAD"), program },
		},
	};
}

const struct tracer_method osnoise_method = {
	.method = {
		.name = "osnoise",
		.series = { "noise", "hw", "nmi", "irq", "softirq", "thread", "lost" },
		.beside = true,
		.arm = tracer_arm,
		.disarm = tracer_disarm,
		.open = open_loop,
		.run = run_loop,
		.close = tracer_close,
	},
	.take = take,
}, osnoise_of_method = {
	.method = {
		.name = "osnoise",
		.series = { "nmi", "irq", "softirq", "thread" },
		.beside = true,
		.arm = tracer_arm,
		.disarm = tracer_disarm,
		.open = open_of,
		.run = tracer_run,
		.close = tracer_close,
	},
	.take = take_of,
};
