// SPDX-License-Identifier: GPL-2.0-or-later
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "options/near.h"
#include "options/options.h"
#include "options/value.h"

#define FIRST 256	/* getopt_long()'s value of the table's first; above any letter */

/* What getopt_long() needs to know of the options of one command, or of one kind of it. */
struct accepted {
	const struct command *command;
	const struct command_kind *kind;
	char letters[3 + 2 * UCHAR_MAX];
	struct option *longs;
};

const struct command_kind *options_kind(const struct command *command, const char *name)
{
	for (const struct command_kind *kind = command->kinds; kind && kind->name; kind++)
		if (!strcmp(kind->name, name))
			return kind;
	return NULL;
}

bool options_has(const struct command *command, const struct command_kind *kind,
		 const struct option_spec *spec)
{
	return !spec->kinds || !kind || spec->kinds & 1U << (kind - command->kinds);
}

static void accept(struct accepted *accepted)
{
	const struct command *command = accepted->command;
	size_t count = 0, n = 0;

	while (command->options[count].name)
		count++;
	accepted->longs = calloc(count + 1, sizeof(*accepted->longs));
	if (!accepted->longs)
		error_no_memory();
	/* "+" stops at the first operand, ":" tells a missing argument apart. */
	/* A program that follows has options of its own: those of this one stand before. */
	strcpy(accepted->letters, command->max_operands < INT_MAX ? ":" : "+:");
	for (size_t i = 0; i < count; i++) {
		const struct option_spec *spec = &command->options[i];

		if (!options_has(command, accepted->kind, spec))
			continue;
		accepted->longs[n++] = (struct option){ spec->name,
			spec->argument ? required_argument : no_argument, NULL, FIRST + (int)i };
		if (spec->letter)
			strncat(accepted->letters, &spec->letter, 1);
		if (spec->letter && spec->argument)
			strcat(accepted->letters, ":");
	}
}

/*
 * The kind that the first operand names.  getopt_long() moves operands to the end: here in a
 * copy, else an option without its argument would take the kind for it.
 */
static const struct command_kind *find_kind(const struct command *command, int argc, char **argv)
{
	struct accepted all = { .command = command };
	char **words = calloc((size_t)argc + 1, sizeof(*words));
	const struct command_kind *kind;

	if (!words)
		error_no_memory();
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	accept(&all);
	optind = 0;
	opterr = 0;
	while (getopt_long(argc, words, all.letters, all.longs, NULL) != -1)
		;
	kind = optind < argc ? options_kind(command, words[optind]) : NULL;
	free(all.longs);
	free(words);
	return kind;
}

static const struct option_spec *by_letter(const struct accepted *accepted, int letter)
{
	const struct command *command = accepted->command;

	for (const struct option_spec *spec = command->options; spec->name; spec++)
		if (spec->letter && spec->letter == letter &&
		    options_has(command, accepted->kind, spec))
			return spec;
	return NULL;
}

/* "; see isolator run --help" */
static const char *see(const struct accepted *accepted)
{
	static char *text;
	const char *program = error_program_name(), *name = accepted->command->name;
	const struct command_kind *kind = accepted->kind;

	free(text);
	text = text_format("; see %s%s%s%s%s --help", program, strcmp(name, program) ? " " : "",
			   strcmp(name, program) ? name : "", kind ? " " : "",
			   kind ? kind->name : "");
	return text;
}

/* The kinds that have the option @name, if it is one of another kind. */
static char *other_kinds(const struct accepted *accepted, const char *name)
{
	const struct command *command = accepted->command;
	char *text = NULL;

	for (const struct command_kind *kind = command->kinds; kind && kind->name; kind++) {
		for (const struct option_spec *spec = command->options; spec->name; spec++) {
			char *longer;

			if (!spec->about || strcmp(spec->name, name) ||
			    !options_has(command, kind, spec))
				continue;
			longer = text_format("%s%s%s", text ? text : "", text ? ", " : "",
					     kind->name);
			free(text);
			text = longer;
		}
	}
	return text;
}

/* A long option that is in no table, or begins more than one. */
static void complain_long(const struct accepted *accepted, const char *word)
{
	char *name = text_format("%.*s", (int)strcspn(word + 2, "="), word + 2);
	char *others = other_kinds(accepted, name), *which = text_format("%s", "");
	struct near near = { .typed = name };
	unsigned int count = 0;

	for (const struct option *option = accepted->longs; option->name; option++) {
		const struct option_spec *spec = &accepted->command->options[option->val - FIRST];
		char *longer;

		if (!spec->about)
			continue;
		near_add(&near, option->name);
		if (strncmp(option->name, name, strlen(name)))
			continue;
		longer = text_format("%s%s--%s", which, count++ ? ", " : "", option->name);
		free(which);
		which = longer;
	}
	if (count > 1)
		error_say("--%s is ambiguous: %s", name, which);
	else if (others)
		error_say("--%s is for %s, not for %s%s", name, others, accepted->kind->name,
			  see(accepted));
	else if (near.best)
		error_say("unknown option --%s; did you mean --%s?", name, near.best);
	else
		error_say("unknown option --%s%s", name, see(accepted));
	free(which);
	free(others);
	free(name);
}

/* What getopt_long() met that is in no table, or lacks its argument. */
static void complain(const struct accepted *accepted, int result, const char *word)
{
	const struct option_spec *spec = optopt >= FIRST ?
		&accepted->command->options[optopt - FIRST] : by_letter(accepted, optopt);

	if (result == ':')
		error_say("missing argument of %s%s: %s%s", optopt >= FIRST ? "--" : "",
			  optopt >= FIRST ? spec->name : word, spec->argument, see(accepted));
	else if (optopt >= FIRST)
		error_say("--%s takes no argument%s", spec->name, see(accepted));
	else if (optopt)
		error_say("unknown option -%c%s", optopt, see(accepted));
	else
		complain_long(accepted, word);
}

/* Are there as many operands as there must be?  False, said which not. */
static bool check_operands(const struct accepted *accepted, int argc, char **argv)
{
	const struct command *command = accepted->command;
	const char *missing = command->operands;
	struct near near = { 0 };

	if (argc < command->min_operands) {
		/* What may be left out is not what is missing. */
		while (*missing == '[')
			missing += strcspn(missing, " ") + 1;
		error_say("missing argument %.*s%s", (int)strcspn(missing, " "), missing,
			  see(accepted));
		return false;
	}
	if (command->kinds && !accepted->kind) {
		near.typed = argv[0];
		for (const struct command_kind *kind = command->kinds; kind->name; kind++)
			near_add(&near, kind->name);
		if (near.best)
			error_say("unknown argument \"%s\"; did you mean %s?", argv[0], near.best);
		else
			error_say("unknown argument \"%s\", it must be %s%s", argv[0],
				  command->operands, see(accepted));
		return false;
	}
	if (argc <= command->max_operands)
		return true;
	error_say("unexpected argument \"%s\"%s", argv[command->max_operands], see(accepted));
	return false;
}

enum options_result options_parse(const struct command *command, int argc, char **argv,
				  const struct command_kind **kind)
{
	struct accepted accepted = { .command = command };
	enum options_result result = OPTIONS_RUN;
	int got;

	if (command->kinds)
		accepted.kind = find_kind(command, argc, argv);
	*kind = accepted.kind;
	accept(&accepted);
	optind = 0;
	opterr = 0;
	while (result == OPTIONS_RUN &&
	       (got = getopt_long(argc, argv, accepted.letters, accepted.longs, NULL)) != -1) {
		const struct option_spec *spec = got >= FIRST ?
			&command->options[got - FIRST] : by_letter(&accepted, got);

		if (!spec) {
			complain(&accepted, got, argv[optind - 1]);
			result = OPTIONS_WRONG;
		} else if (spec->type == OPTION_HELP) {
			result = OPTIONS_WANT_HELP;
		} else if (spec->type == OPTION_HELP_ALL) {
			result = OPTIONS_WANT_HELP_ALL;
		} else {
			error_option_given(spec->name, got >= FIRST ? 0 : spec->letter);
			if (!value_set(spec, optarg))
				result = OPTIONS_WRONG;
		}
	}
	if (result == OPTIONS_RUN && !check_operands(&accepted, argc - optind, argv + optind))
		result = OPTIONS_WRONG;
	free(accepted.longs);
	return result;
}
