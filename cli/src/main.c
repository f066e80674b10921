// SPDX-License-Identifier: GPL-2.0-or-later
/* isolator: one subcommand each for what people want of /proc/isolator. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "error.h"
#include "help.h"
#include "version.h"

static bool want_version;

static const struct option_spec no_options[] = {
	OPTION_HELP_SPEC,
	{ 0 },
};

static const char *const plain_exits[] = {
	"0", "done",
	"1", "an error, which says what to do about it",
	NULL,
};

static int run_help(int argc, char **argv);
static int run_completion(int argc, char **argv);
static int run_manual(int argc, char **argv);

static const struct command help_command = {
	.name = "help",
	.operands = "[SUBCOMMAND]",
	.names_commands = true,
	.max_operands = 1,
	.summary = "what a subcommand does, its options and its exit codes",
	.about = "Shows the help of a subcommand, or of the whole command.",
	.options = no_options,
	.examples = (const char *const []){
		"isolator help why", "the same as: isolator why --help",
		NULL,
	},
	.exits = plain_exits,
	.run = run_help,
};

static const struct command completion_command = {
	.name = "completion",
	.operands = "bash",
	.words = "bash",
	.min_operands = 1,
	.max_operands = 1,
	.summary = "a script for the shell that completes this command's words",
	.about = "Prints a script that teaches bash this command's subcommands and options.",
	.options = no_options,
	.examples = (const char *const []){
		"isolator completion bash > /etc/bash_completion.d/isolator",
		"for all users, from the next login on",
		". <(isolator completion bash)", "for this shell",
		NULL,
	},
	.exits = plain_exits,
	.run = run_completion,
};

static const struct command manual_command = {
	.name = "manual-options",
	.operands = "[SUBCOMMAND]",
	.max_operands = 1,
	.about = "Prints the OPTIONS section of a manual page; a test compares it.",
	.options = no_options,
	.examples = (const char *const []){
		"isolator manual-options stat", "for man/isolator-stat.1",
		NULL,
	},
	.exits = plain_exits,
	.hidden = true,
	.run = run_manual,
};

static const struct command *const subcommands[] = {
	&prove_command,
	&stat_command,
	&status_command,
	&top_command,
	&why_command,
	&audit_command,
	&run_command,
	&attach_command,
	&detach_command,
	&shield_command,
	&restore_command,
	&completion_command,
	&help_command,
	&manual_command,
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
		"isolator help why", "one subcommand's options and examples",
		NULL,
	},
	.exits = (const char *const []){
		"0", "done, and nothing exceeded a deadline, or the machine is fit",
		"1", "an error, which says what to do about it",
		"2", "a deadline was exceeded: there was a breach (why); the machine is not fit (audit); a CPU was not quiet (prove); or something is against the rule (shield)",
		"3", "inconclusive: no CPU is isolated, nothing could be judged, or what counts does not (prove)",
		"77", "skipped: this machine has nothing to look with (prove)",
		NULL,
	},
};

static const struct command *find(const char *name)
{
	for (const struct command *const *c = subcommands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	error_say("there is no subcommand \"%s\"; see isolator --help", name);
	return NULL;
}

static int run_help(int argc, char **argv)
{
	const struct command *command = argc ? find(argv[0]) : NULL;

	if (argc && !command)
		return EXIT_ERROR;
	help_print(stdout, command ? command : &program, command ? NULL : subcommands);
	return EXIT_PASS;
}

static int run_manual(int argc, char **argv)
{
	const struct command *command = argc ? find(argv[0]) : &program;

	if (!command)
		return EXIT_ERROR;
	help_manual(stdout, command);
	return EXIT_PASS;
}

static int run_completion(int argc, char **argv)
{
	(void)argc;
	if (strcmp(argv[0], "bash"))
		return error_say("no completion for \"%s\" here; it knows bash", argv[0]);
	help_bash(stdout, &program, subcommands);
	return EXIT_PASS;
}

static int run(const struct command *command, int argc, char **argv)
{
	error_command(command->name);
	switch (options_parse(command, argc, argv)) {
	case OPTIONS_WRONG:
		return EXIT_ERROR;
	case OPTIONS_WANT_HELP:
		help_print(stdout, command, NULL);
		return EXIT_PASS;
	default:
		return command->run(argc - optind, argv + optind);
	}
}

static int run_program(int argc, char **argv)
{
	const struct command *command;

	switch (options_parse(&program, argc, argv)) {
	case OPTIONS_WRONG:
		return EXIT_ERROR;
	case OPTIONS_WANT_HELP:
		return run_help(0, NULL);
	default:
		break;
	}
	if (want_version) {
		printf("isolator %s\n", ISOLATOR_VERSION);
		return EXIT_PASS;
	}
	if (optind == argc) {
		help_print(stderr, &program, subcommands);
		return EXIT_ERROR;
	}
	command = find(argv[optind]);
	return command ? run(command, argc - optind, argv + optind) : EXIT_ERROR;
}

int main(int argc, char **argv)
{
	int code = run_program(argc, argv);

	/* A full disk is an error of this program too. */
	if (fflush(stdout) || ferror(stdout))
		return error_say("cannot write: %s", strerror(errno));
	return code;
}
