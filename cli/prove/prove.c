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
	{ "cpu", 'c', OPTION_CPUS, "CPU", "the CPU to look at; required",
	  { .cpus = &options.cpus }, 0 },
	{ "time", 't', OPTION_SECONDS, "SEC", "how long, in seconds (default 10); Ctrl-C ends it early, with the verdict of what was seen",
	  { .ns = &options.window_ns }, 0 },
	{ "threshold", 0, OPTION_TIME, "US", "a longer pause counts as a gap, in us or with a unit (default 10us); if given, gaps decide in a virtual machine too",
	  { .ns = &options.threshold_ns }, 0 },
	{ "plain", 0, OPTION_FLAG, NULL, "do not isolate the CPU, also where the kernel has Isolator: what comes to it without",
	  { .flag = &options.plain }, 0 },
	{ "json", 0, OPTION_FLAG, NULL, "one JSON object (schema isolator.prove, version 1)",
	  { .flag = &options.json }, 0 },
	{ "proc", 0, OPTION_DIRECTORY, "DIR", "read the files in DIR instead of /proc/isolator",
	  { .text = &options.directory }, 0 },
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
		return error_say("which CPU? -c 1 looks at CPU 1; see isolator prove --help");
	if (cpulist_next(&options.cpus, order.cpu) >= 0)
		return error_say("--cpu wants one CPU; run isolator prove once for each");
	if (options.threshold_ns > MAX_THRESHOLD_NS)
		return error_say("--threshold wants at most one second");
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
	.summary = "is a CPU quiet? If not, what comes to it",
	.about = "Runs a thread on the CPU that stays in user mode, isolated if the kernel has Isolator, and counts what interrupts it: kernel instructions (by the counter of the CPU), interrupts by class, context switches, page faults, and pauses of its loop. An instrument that reads 0 proves nothing by itself: each must count a deliberate kernel entry before and after, or it is not used. Without Isolator the thread is a SCHED_FIFO one if that is allowed: tasks that are bound to the CPU then wait. The last line is the verdict.",
	.options = specs,
	.examples = (const char *const []){
		"sudo isolator prove -c 3", "CPU 3, for 10 seconds",
		"sudo isolator prove -c 3 -t 1h --threshold 5us --json > proof.json",
		"for an hour, with no pause over 5 us, to a file",
		"sudo isolator prove -c 3 --plain", "the same CPU without isolation, to compare",
		NULL,
	},
	.exits = (const char *const []){
		"0", "the CPU was quiet",
		"1", "an error, which says what to do about it",
		"2", "it was not quiet; the last line names what came",
		"3", "inconclusive: an instrument that must count does not, or none separates the thread's own ticks",
		"77", "nothing on this machine can count what interrupts the CPU",
		NULL,
	},
	.run = run,
};
