// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator: one subcommand each for what people want of /proc/isolator. */
#include <limits.h>

#include "options/command.h"
#include "options/dispatch.h"

static bool want_version;

static const struct command help_command = DISPATCH_HELP(
	"isolator measure latency", "how late is a thread that waits for a time?",
	"isolator help why", "the same as: isolator why --help");

static const struct command completion_command = DISPATCH_COMPLETION(
	"isolator completion bash > /etc/bash_completion.d/isolator",
	"for all users, from the next login on",
	". <(isolator completion bash)", "for this shell");

static const struct command manual_command = DISPATCH_MANUAL(
	"isolator manual-options stat", "for man/isolator-stat.1");

static const struct command *const subcommands[] = {
	&prove_command,
	&measure_command,
	&stat_command,
	&status_command,
	&top_command,
	&watch_command,
	&why_command,
	&export_command,
	&audit_command,
	&run_command,
	&attach_command,
	&detach_command,
	&shield_command,
	&interfere_command,
	&restore_command,
	&configure_command,
	&completion_command,
	&help_command,
	&manual_command,
	&attribute_command,
	NULL,
};

static const struct option_spec program_options[] = {
	OPTION_HELP_SPEC,
	{ "version", 0, OPTION_FLAG, NULL, "the version of this command", { .flag = &want_version },
	  0 },
	{ 0 },
};

static const struct command program = {
	.name = "isolator",
	.operands = "SUBCOMMAND ...",
	.max_operands = INT_MAX,
	.about = "Says whether a machine is fit to isolate a CPU core that nothing shall interrupt, runs a program on one that it makes quiet, proves that nothing interrupted it, shows what Isolator keeps away from it, and who wanted to interrupt it. It reads /proc/isolator, and audit and prove what else the kernel shows; the names of senders and of kernel functions are for root.",
	.options = program_options,
	.examples = (const char *const []){
		"sudo isolator audit -c 3", "is this machine fit to isolate CPU 3?",
		"sudo isolator run -c 3 -- ./control", "make it quiet, as far as this kernel can, for one program",
		"isolator stat", "live, what is kept away from the isolated CPUs",
		"isolator why", "who wanted to interrupt them, the worst first",
		"sudo isolator prove -c 3", "is CPU 3 quiet?  If not, what comes to it",
		"isolator measure latency", "how late is a thread that waits for a time?",
		"isolator help why", "one subcommand's options and examples",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done, and nothing exceeded a deadline, or the machine is fit",
		"1", "an error, which says what to do about it",
		"2", "a deadline was exceeded: there was a breach (why); the machine is not fit (audit); a CPU was not quiet (prove); the kernel's limits differ from their file (configure); something breaks the rule (shield); or a limit was exceeded (measure, watch)",
		"3", "inconclusive: no CPU is isolated, nothing could be judged, or what counts does not (prove); a protected CPU was missing (watch); a load did nothing (interfere); or a run is invalid (measure)",
		"77", "skipped: this machine lacks what it takes (prove, measure, interfere); the running kernel has no Isolator (configure)",
		NULL,
	},
};

int main(int argc, char **argv)
{
	const struct program isolator = { &program, subcommands, &want_version };

	return dispatch(&isolator, argc, argv);
}
