// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator: one subcommand each for what people want of isolated CPUs. */
#include <limits.h>

#include "options/command.h"
#include "options/dispatch.h"

static bool want_version;

static const struct command help_command = DISPATCH_HELP(
	"isolator help measure latency", "the same as: isolator measure latency --help",
	"isolator help why", "the same as: isolator why --help");

static const struct command completion_command = DISPATCH_COMPLETION(
	"isolator completion bash > /etc/bash_completion.d/isolator",
	"for all users, from the next login on",
	". <(isolator completion bash)", "for this shell");

static const struct command manual_command = DISPATCH_MANUAL(
	"isolator manual status < cli/man/isolator-status.1", "as the build does");

static const struct command *const subcommands[] = {
	&audit_command,
	&watch_command,
	&run_command,
	&attach_command,
	&detach_command,
	&shield_command,
	&restore_command,
	&status_command,
	&why_command,
	&export_command,
	&configure_command,
	&completion_command,
	&help_command,
	&prove_command,
	&measure_command,
	&interfere_command,
	&manual_command,
	&attribute_command,
	NULL,
};

static const struct heading headings[] = {
	{ "look at a machine", &audit_command },
	{ "make CPUs quiet", &run_command },
	{ "while a CPU is isolated", &status_command },
	{ "set up", &configure_command },
	{ "test", &prove_command },
	{ 0 },
};

static const struct option_spec program_options[] = {
	OPTION_HELP_SPEC,
	{ "version", 'V', OPTION_FLAG, NULL, "show the version", .to.flag = &want_version },
	{ 0 },
};

static const struct command program = {
	.name = "isolator",
	.operands = "COMMAND ...",
	.max_operands = INT_MAX,
	.about = "Makes CPU cores quiet, shows what is kept away from them, and proves it. Begin with isolator audit.",
	.options = program_options,
};

int main(int argc, char **argv)
{
	const struct program isolator = { &program, subcommands, headings, &want_version };

	return dispatch(&isolator, argc, argv);
}
