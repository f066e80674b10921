// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json.h"
#include "base/version.h"
#include "options/completion.h"
#include "options/dispatch.h"
#include "options/help.h"
#include "options/near.h"

#define SCHEMA_VERSION 1	/* of all commands' documents */

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

/* The one of this name; NULL, said which may be meant. */
static const struct command *find(const char *name)
{
	const struct command *program = running->command;
	struct near command = { .typed = name }, option = { .typed = name };

	for (const struct command *const *c = running->subcommands; *c; c++) {
		if (!strcmp((*c)->name, name))
			return *c;
		if (!(*c)->hidden)
			near_add(&command, (*c)->name);
	}
	for (const struct option_spec *spec = program->options; spec->name; spec++)
		near_add(&option, spec->name);
	if (option.best && (!command.best || option.distance < command.distance))
		error_say("unknown command \"%s\"; did you mean %s --%s?", name, program->name,
			  option.best);
	else if (command.best)
		error_say("unknown command \"%s\"; did you mean %s %s?", name, program->name,
			  command.best);
	else
		error_say("unknown command \"%s\"; see %s --help", name, program->name);
	return NULL;
}

int dispatch_help(int argc, char **argv)
{
	const struct command *command = argc ? find(argv[0]) : NULL;
	const struct command_kind *kind = command && argc > 1 ?
		options_kind(command, argv[1]) : NULL;

	if (argc && !command)
		return EXIT_ERROR;
	if (argc > 1 && !kind)
		return error_say("unexpected argument \"%s\"; see %s %s --help", argv[1],
				 error_program_name(), command->name);
	if (command)
		help_command(stdout, command, kind, false);
	else
		help_program(stdout, running);
	return EXIT_PASS;
}

int dispatch_manual(int argc, char **argv)
{
	const struct command *command = argc ? find(argv[0]) : running->command;

	if (!command)
		return EXIT_ERROR;
	help_manual(stdout, stdin, running, command);
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

/* Whoever reads documents finds one, whatever happened. */
static void put_failure(const struct command *command)
{
	struct json json = { .out = stdout };

	json_document(&json, command->schema, SCHEMA_VERSION);
	json_string(&json, "error", error_said());
	json_document_end(&json);
}

static int run(const struct command *command, int argc, char **argv)
{
	const struct command_kind *kind;
	int code;

	error_command(command->name);
	switch (options_parse(command, argc, argv, &kind)) {
	case OPTIONS_WRONG:
		return command->failed ? command->failed : EXIT_ERROR;
	case OPTIONS_WANT_HELP:
		help_command(stdout, command, kind, false);
		return EXIT_PASS;
	case OPTIONS_WANT_HELP_ALL:
		help_command(stdout, command, kind, true);
		return EXIT_PASS;
	case OPTIONS_RUN:
		break;
	}
	code = command->run(argc - optind, argv + optind);
	if (code && command->schema && *command->json && error_said() && !json_printed())
		put_failure(command);
	return code;
}

static int run_program(int argc, char **argv)
{
	const struct command *command;
	const struct command_kind *kind;

	switch (options_parse(running->command, argc, argv, &kind)) {
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
