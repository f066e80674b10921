// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/version.h"
#include "options/completion.h"
#include "options/dispatch.h"
#include "options/help.h"

const struct option_spec dispatch_options[] = {
	OPTION_HELP_SPEC,
	{ 0 },
};

const char *const dispatch_exits[] = {
	"0", "done",
	"1", "an error, which says what to do about it",
	NULL,
};

static const struct program *running;

static const struct command *find(const char *name)
{
	for (const struct command *const *c = running->subcommands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	error_say("there is no subcommand \"%s\"; see %s --help", name, error_program_name());
	return NULL;
}

int dispatch_help(int argc, char **argv)
{
	const struct command *command = argc ? find(argv[0]) : NULL;

	if (argc && !command)
		return EXIT_ERROR;
	if (command)
		help_command(stdout, command);
	else
		help_program(stdout, running);
	return EXIT_PASS;
}

int dispatch_manual(int argc, char **argv)
{
	const struct command *command = argc ? find(argv[0]) : running->command;

	if (!command)
		return EXIT_ERROR;
	help_manual(stdout, command);
	return EXIT_PASS;
}

int dispatch_completion(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*write)(FILE *out, const struct command *program,
			      const struct command *const *subcommands);
	} shells[] = {
		{ "bash", completion_bash },
		{ "zsh", completion_zsh },
		{ "fish", completion_fish },
	};

	(void)argc;
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(argv[0], shells[i].name))
			continue;
		shells[i].write(stdout, running->command, running->subcommands);
		return EXIT_PASS;
	}
	return error_say("no completion for \"%s\" here; it knows bash, zsh and fish", argv[0]);
}

static int run(const struct command *command, int argc, char **argv)
{
	error_command(command->name);
	switch (options_parse(command, argc, argv)) {
	case OPTIONS_WRONG:
		return command->failed ? command->failed : EXIT_ERROR;
	case OPTIONS_WANT_HELP:
		help_command(stdout, command);
		return EXIT_PASS;
	default:
		return command->run(argc - optind, argv + optind);
	}
}

static int run_program(int argc, char **argv)
{
	const struct command *command;

	switch (options_parse(running->command, argc, argv)) {
	case OPTIONS_WRONG:
		return EXIT_ERROR;
	case OPTIONS_WANT_HELP:
		return dispatch_help(0, NULL);
	default:
		break;
	}
	if (*running->want_version) {
		printf("%s %s\n", error_program_name(), ISOLATOR_VERSION);
		return EXIT_PASS;
	}
	if (optind == argc) {
		help_program(stderr, running);
		return EXIT_ERROR;
	}
	command = find(argv[optind]);
	return command ? run(command, argc - optind, argv + optind) : EXIT_ERROR;
}

int dispatch(const struct program *program, int argc, char **argv)
{
	int code;

	running = program;
	error_program(program->command->name);
	code = run_program(argc, argv);
	/* A full disk is an error of this program too. */
	if (fflush(stdout) || ferror(stdout))
		return error_say("cannot write: %s", strerror(errno));
	return code;
}
