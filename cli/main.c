// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator: one subcommand each for what people want of isolated CPUs. */
#include <limits.h>

#include "options/command.h"
#include "options/dispatch.h"

static bool want_version;

static const struct command
help_command = {
	.name = "help",
	.operands = "[COMMAND [KIND]]",
	.names_commands = true,
	.max_operands = 2,
	.summary = "show what a command does, its options and exit codes",
	.about = "Shows the help of a command, or of the whole program.",
	.options = dispatch_options,
	.examples = (const char *const []){
		"isolator help measure latency", "the same as: isolator measure latency --help",
		"isolator help why", "the same as: isolator why --help",
		NULL,
	},
	.exits = dispatch_exits,
	.run = dispatch_help,
},
completion_command = {
	.name = "completion",
	.operands = "bash|zsh|fish",
	.words = "bash zsh fish",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "print a script that completes commands in your shell",
	.about = "Prints a script that lets your shell complete commands and options.",
	.options = dispatch_options,
	.examples = (const char *const []){
		"isolator completion bash > /etc/bash_completion.d/isolator",
		"for all users, from the next login on",
		". <(isolator completion bash)", "for this shell",
		NULL,
	},
	.exits = dispatch_exits,
	.run = dispatch_completion,
},
manual_command = {
	.name = "manual",
	.operands = "[COMMAND]",
	.max_operands = 1,
	.about = "Fills a manual page, read from standard input, with what --help says.",
	.options = dispatch_options,
	.examples = (const char *const []){
		"isolator manual status < cli/man/isolator-status.1", "as the build does", NULL,
	},
	.exits = dispatch_exits,
	.hidden = true,
	.run = dispatch_manual,
};

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
