// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator prove: is this CPU quiet, and if not, what comes to it? */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/error.h"
#include "base/term.h"
#include "base/wait.h"
#include "machine/online.h"
#include "machine/user.h"
#include "options/command.h"
#include "proc/device.h"
#include "proc/proc.h"
#include "prove/prove.h"
#include "prove/verdict.h"

#define DEFAULT_NS UINT64_C(10000000000)
#define MAX_THRESHOLD_NS UINT64_C(1000000000)	/* twice that is slept to see that gaps count */
#define DEFAULT_THRESHOLD_NS UINT64_C(10000)

static struct {
	struct cpulist cpus;
	uint64_t window_ns, threshold_ns;	/* the threshold: 0 if it is not given */
	bool plain, json;
	const char *directory;
} options = {
	.window_ns = DEFAULT_NS,
	.directory = PROC_DIRECTORY,
};

static const struct option_spec specs[] = {
	OPTION_HELP_SPEC,
	OPTION_HELP_ALL_SPEC,
	{ "cpu", 'c', OPTION_CPUS, "CPUS", "the one CPU to look at; required",
	  .to.cpus = &options.cpus },
	{ "time", 't', OPTION_TIME, "TIME", "measure for this time (default 10s); Ctrl-C ends it early, with a verdict",
	  .to.ns = &options.window_ns, .unit = "s" },
	{ "threshold", 0, OPTION_TIME, "TIME", "count a longer pause as a gap (default 10us); if given, gaps decide in a virtual machine too",
	  .to.ns = &options.threshold_ns, .unit = "us" },
	{ "plain", 0, OPTION_FLAG, NULL, "do not isolate the CPU, even if the kernel has Isolator",
	  .to.flag = &options.plain },
	{ "json", 0, OPTION_FLAG, NULL, "print one JSON object (schema isolator.prove, version 1)",
	  .to.flag = &options.json },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  .to.text = &options.directory, .rare = true },
	{ 0 },
};

const char *prove_how(enum spin_how how)
{
	static const char *const names[] = {
		[SPIN_ISOLATED] = "isolator",
		[SPIN_FIFO] = "fifo",
		[SPIN_NICE] = "nice",
		[SPIN_ORDINARY] = "ordinary",
	};

	return names[how];
}

/* Before it begins: what it takes from others, where this user may. */
static void warn(const struct watch_order *order)
{
	struct rlimit limit = { 0 };

	if (!user_may(CAP_SYS_NICE) && (getrlimit(RLIMIT_RTPRIO, &limit) || !limit.rlim_cur))
		return;
	error_say("a SCHED_FIFO thread takes CPU %d for %.3g s: tasks that are bound to it wait",
		  order->cpu, (double)order->window_ns / 1e9);
}

static int run(int argc, char **argv)
{
	struct watch_order order = {
		.window_ns = options.window_ns,
		.threshold_ns = options.threshold_ns ? options.threshold_ns : DEFAULT_THRESHOLD_NS,
		.strict = options.threshold_ns,
		.directory = options.directory,
		.instruments = instruments,
	};
	struct watch watch = { 0 };
	struct prove_view view = {
		.watch = &watch,
		.plain = options.plain,
		.colours = term_colours(stdout),
	};
	struct cpulist online;
	int code = EXIT_ERROR;

	(void)argc;
	(void)argv;
	order.cpu = options.cpus.given ? cpulist_next(&options.cpus, -1) : -1;
	if (order.cpu < 0)
		return error_say("missing option -c CPU, the CPU to look at; see isolator prove --help");
	if (cpulist_next(&options.cpus, order.cpu) >= 0)
		return error_say("%s: give one CPU; run isolator prove once for each", error_option("cpu"));
	if (options.threshold_ns > MAX_THRESHOLD_NS)
		return error_say("--threshold: at most 1s is possible");
	if (online_read("/", &online) || online_check("cpu", &options.cpus, &online))
		return EXIT_ERROR;
	/* A kernel that has one of them and not the other is an error, told at start. */
	order.isolate = !options.plain &&
		(!access(options.directory, F_OK) || !access(DEVICE_PATH, F_OK));
	order.progress = isatty(STDERR_FILENO);
	if (!order.isolate && !options.json)
		warn(&order);
	wait_prepare();
	if (!watch_run(&order, &watch)) {
		if (options.json)
			prove_json(stdout, &view);
		else
			prove_text(stdout, &view);
		code = verdict_exit(verdict_find(&watch));
	}
	watch_free(&watch);
	return code;
}

const struct command prove_command = {
	.name = "prove",
	.summary = "prove that a CPU is quiet, or show what interrupts it",
	.about = "Runs a thread on the CPU that stays in user mode, isolated if the kernel has Isolator, and counts what interrupts it: kernel instructions (by the CPU's own counter), interrupts by class, context switches, page faults, and pauses of the thread's loop. Before and after, each instrument must count a deliberate kernel entry, or it is not used. Without Isolator the thread runs as SCHED_FIFO where that is allowed, and other tasks of the CPU wait. The last line is the verdict.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator prove -c 3", "look at CPU 3 for 10 seconds",
		"sudo isolator prove -c 3 -t 1h --threshold 5us --json > proof.json",
		"require no pause over 5 us for an hour, and keep a record",
		"sudo isolator prove -c 3 --plain", "the same CPU without isolation, to compare",
		NULL,
	},
	.exits = (const char *const []){
		"0", "the CPU was quiet",
		"1", "an error, which says what to do about it",
		"2", "it was not quiet; the last line names what came",
		"3", "inconclusive: an instrument does not count, or none can tell the thread's own ticks apart",
		"77", "skipped: nothing here can count what interrupts the CPU",
		NULL,
	},
	.run = run,
};
