// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "options/options.h"

#define FIRST 256	/* getopt_long()'s value of the table's first; above any letter */
#define SECONDS_MAX 1e9
#define DIGITS "0123456789"

static bool to_number(const char *text, unsigned int min, unsigned int *number)
{
	unsigned long value;

	if (!*text || text[strspn(text, DIGITS)])
		return false;
	errno = 0;
	value = strtoul(text, NULL, 10);
	if (errno || value < min || value > UINT_MAX)
		return false;
	*number = (unsigned int)value;
	return true;
}

bool options_time(const char *text, const char *argument, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
		    { "min", 60e9 }, { "h", 3600e9 } };
	size_t digits = strspn(text, DIGITS "."), length = strcspn(argument, "|");
	const char *unit = text[digits] ? text + digits : argument;
	double number, most = SECONDS_MAX * 1e9;
	char *end;

	if (argument[length] && !strcmp(text, argument + length + 1)) {
		*ns = UINT64_MAX;
		return true;
	}
	if (unit != argument)
		length = strlen(unit);
	number = strtod(text, &end);
	if (!digits || end != text + digits)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) != length || strncasecmp(units[i].name, unit, length))
			continue;
		number *= units[i].ns;
		if (number < 1 || number > most)
			return false;
		*ns = (uint64_t)number;
		return true;
	}
	return false;
}

/* Which one of @words, "a|b", is @text? */
static bool to_word(const char *text, const char *words, unsigned int *number)
{
	for (unsigned int i = 0; *words; i++) {
		size_t length = strcspn(words, "|");

		if (strlen(text) == length && !strncmp(text, words, length)) {
			*number = i;
			return true;
		}
		words += length;
		words += *words == '|';
	}
	return false;
}

/* False: said why. */
static bool set(const struct option_spec *spec, const char *text)
{
	switch (spec->type) {
	case OPTION_HELP:
		break;
	case OPTION_FLAG:
		*spec->to.flag = true;
		break;
	case OPTION_NUMBER:
		if (to_number(text, spec->min, spec->to.number))
			break;
		error_say("--%s wants a whole number from %u on, not \"%s\"", spec->name,
			  spec->min, text);
		return false;
	case OPTION_SECONDS:
		if (options_time(text, "s", spec->to.ns))
			break;
		error_say("--%s wants a time, more than 0, such as 10 or 0.5 (seconds), 200ms, 5min or 1h, not \"%s\"",
			  spec->name, text);
		return false;
	case OPTION_TIME:
		if (options_time(text, spec->argument, spec->to.ns))
			break;
		error_say("--%s wants a time, more than 0, such as 20 (%.2s) or 500us, 20ms, 1s%s, not \"%s\"",
			  spec->name, spec->argument,
			  strchr(spec->argument, '|') ? ", or never" : "", text);
		return false;
	case OPTION_CPUS:
		if (cpulist_parse(text, spec->to.cpus))
			break;
		error_say("--%s wants a list of CPUs below %d, such as 1 or 1,3-5, not \"%s\"",
			  spec->name, CPULIST_MAX, text);
		return false;
	case OPTION_WORD:
		if (to_word(text, spec->argument, spec->to.number))
			break;
		error_say("--%s wants one of %s, not \"%s\"", spec->name, spec->argument, text);
		return false;
	case OPTION_TEXTS:
		*ARRAY_ADD(spec->to.texts->texts, spec->to.texts->count) = text;
		break;
	case OPTION_DIRECTORY:
	case OPTION_FILE:
	case OPTION_USER:
		*spec->to.text = text;
		break;
	}
	return true;
}

static const struct option_spec *by_letter(const struct command *command, int letter)
{
	for (const struct option_spec *spec = command->options; spec->name; spec++)
		if (spec->letter && spec->letter == letter)
			return spec;
	return NULL;
}

/* What getopt_long() met that is in no table, or lacks its argument. */
static void complain(const struct command *command, int result, const char *word)
{
	const char *program = error_program_name();
	const char *where = strcmp(command->name, program) ? command->name : "";
	const char *space = *where ? " " : "";

	if (result == ':')
		error_say("%s wants an argument; see %s%s%s --help", word, program, space, where);
	else if (optopt >= FIRST)
		error_say("%.*s takes no argument; see %s%s%s --help",
			  (int)strcspn(word, "="), word, program, space, where);
	else if (optopt)
		error_say("there is no option -%c; see %s%s%s --help", optopt, program, space,
			  where);
	else
		error_say("there is no option %s, or more than one that begins so; see %s%s%s --help",
			  word, program, space, where);
}

enum options_result options_parse(const struct command *command, int argc, char **argv)
{
	enum options_result result = OPTIONS_RUN;
	/* "+" stops at the first operand, ":" tells a missing argument apart. */
	/* A program that follows has options of its own: those of this one stand before. */
	char letters[3 + 2 * UCHAR_MAX] = "+:";
	struct option *longs;
	size_t count = 0;
	int got;

	while (command->options[count].name)
		count++;
	longs = calloc(count + 1, sizeof(*longs));
	if (!longs)
		exit(error_say("no memory"));
	for (size_t i = 0; i < count; i++) {
		const struct option_spec *spec = &command->options[i];

		longs[i] = (struct option){ spec->name,
			spec->argument ? required_argument : no_argument, NULL, FIRST + (int)i };
		if (spec->letter)
			strncat(letters, &spec->letter, 1);
		if (spec->letter && spec->argument)
			strcat(letters, ":");
	}
	if (command->max_operands < INT_MAX)
		memmove(letters, letters + 1, strlen(letters));
	optind = 0;
	opterr = 0;
	while (result == OPTIONS_RUN &&
	       (got = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct option_spec *spec = got >= FIRST ?
			&command->options[got - FIRST] : by_letter(command, got);

		if (!spec) {
			complain(command, got, argv[optind - 1]);
			result = OPTIONS_WRONG;
		} else if (spec->type == OPTION_HELP) {
			result = OPTIONS_WANT_HELP;
		} else if (!set(spec, optarg)) {
			result = OPTIONS_WRONG;
		}
	}
	free(longs);
	if (result != OPTIONS_RUN)
		return result;
	if (argc - optind < command->min_operands || argc - optind > command->max_operands) {
		if (argc - optind < command->min_operands)
			error_say("it wants a word more: %s; see --help", command->operands);
		else
			error_say("\"%s\" is one word too many; see --help",
				  argv[optind + command->max_operands]);
		return OPTIONS_WRONG;
	}
	return OPTIONS_RUN;
}
