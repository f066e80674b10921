// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "options/dispatch.h"
#include "options/help.h"

#define WIDTH 80
#define INDENT 21	/* of what an option does */
#define NARROW 14	/* of what a subcommand does */
#define CODE 7		/* of what an exit code says */
#define WORD 128	/* the longest word that is laid */
#define EXAMPLES 2	/* how many --help shows */

/* A paragraph that is being laid into lines. */
struct lines {
	FILE *out;
	size_t column;
	size_t indent;	/* of all lines but the first */
	bool begun;	/* a word stands before the next one */
};

static void word(struct lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void word(struct lines *lines, const char *format, ...)
{
	va_list arguments;
	char text[WORD];
	size_t length;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	length = strlen(text);
	if (lines->begun && lines->column + 1 + length > WIDTH) {
		fprintf(lines->out, "\n%*s", (int)lines->indent, "");
		lines->column = lines->indent;
	} else if (lines->begun) {
		fputc(' ', lines->out);
		lines->column++;
	}
	fputs(text, lines->out);
	lines->column += length;
	lines->begun = true;
}

/* All of @text, and the line's end. */
static void words(struct lines *lines, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, " ");

		word(lines, "%.*s", (int)length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', lines->out);
}

/* Is it the program itself, and no subcommand? */
static bool is_program(const struct command *command)
{
	return !strcmp(command->name, error_program_name());
}

const struct option_spec *help_visible(const struct option_spec *spec)
{
	while (spec->name && !spec->about)
		spec++;
	return spec;
}

const struct option_spec *help_of(const struct command *command, const struct command_kind *kind,
				  const struct option_spec *spec)
{
	for (spec = help_visible(spec); spec->name; spec = help_visible(spec + 1))
		if (kind ? options_has(command, kind, spec) : !spec->kinds)
			break;
	return spec;
}

const struct option_spec *help_named(const struct command *command,
				     const struct option_spec *spec)
{
	for (spec = help_visible(spec); spec->name; spec = help_visible(spec + 1)) {
		const struct option_spec *first = command->options;

		while (strcmp(first->name, spec->name))
			first++;
		if (first == spec)
			break;
	}
	return spec;
}

static void print_usage(FILE *out, const struct command *command, const struct command_kind *kind)
{
	struct lines lines = { .out = out };
	int printed = fprintf(out, "usage: %s%s%s", is_program(command) ? "" : error_program_name(),
			      is_program(command) ? "" : " ", command->name);

	lines.column = lines.indent = (size_t)printed;
	lines.indent++;
	lines.begun = true;
	if (kind)
		word(&lines, "%s", kind->name);
	if (is_program(command))
		word(&lines, "COMMAND [OPTION ...] [ARGUMENT ...]");
	else if (kind || !command->operands)
		word(&lines, "[OPTION ...]");
	else if (command->kinds)
		word(&lines, "%s [OPTION ...]", command->operands);
	else
		word(&lines, "[OPTION ...] %s", command->operands);
	fputc('\n', out);
}

/* A term, and its explanation beside it, or below if it is long. */
static void print_term(FILE *out, int indent, const char *term, const char *about)
{
	struct lines lines = { .out = out, .column = (size_t)indent, .indent = (size_t)indent };

	if ((int)strlen(term) + 4 > indent)
		fprintf(out, "  %s\n%*s", term, indent, "");
	else
		fprintf(out, "  %-*s", indent - 2, term);
	words(&lines, about);
}

static bool any_time(const struct option_spec *spec)
{
	for (; spec->name; spec++)
		if (spec->type == OPTION_TIME)
			return true;
	return false;
}

/* Those of @kind, or that all kinds have; false: some were left out. */
static bool print_options(FILE *out, const struct command *command,
			  const struct command_kind *kind, bool all)
{
	const struct option_spec *spec = command->options;
	bool complete = true;
	char term[WORD];

	fprintf(out, "\noptions%s%s:\n", command->kinds && !kind ? " of each" : "",
		any_time(spec) ? "; TIME is a number with its unit: 500us, 20ms, 5s, 1h" : "");
	for (spec = help_of(command, kind, spec); spec->name;
	     spec = help_of(command, kind, spec + 1)) {
		char letter[] = { '-', spec->letter, ',', ' ', '\0' };

		if (spec->rare && !all) {
			complete = false;
			continue;
		}
		snprintf(term, sizeof(term), "%s--%s%s%s", spec->letter ? letter : "",
			 spec->name, spec->argument ? " " : "",
			 spec->argument ? spec->argument : "");
		print_term(out, INDENT, term, spec->about);
	}
	return complete;
}

static void print_head(FILE *out, const struct command *command, const struct command_kind *kind)
{
	struct lines about = { .out = out };

	print_usage(out, command, kind);
	fputc('\n', out);
	words(&about, kind ? kind->about : command->about);
}

void help_program(FILE *out, const struct program *program)
{
	const struct heading *heading = program->headings;

	print_head(out, program->command, NULL);
	for (const struct command *const *c = program->subcommands; *c; c++) {
		if (*c == heading->first) {
			fprintf(out, "\n%s:\n", heading->text);
			heading++;
		}
		if (!(*c)->hidden)
			print_term(out, NARROW, (*c)->name, (*c)->summary);
	}
	print_options(out, program->command, NULL, false);
}

static void print_kinds(FILE *out, const struct command *command)
{
	fputc('\n', out);
	for (const struct command_kind *kind = command->kinds; kind->name; kind++)
		print_term(out, NARROW, kind->name, kind->summary);
}

void help_command(FILE *out, const struct command *command, const struct command_kind *kind,
		  bool all)
{
	const char *const *example = kind ? kind->examples : command->examples;
	bool complete;

	print_head(out, command, kind);
	if (command->kinds && !kind)
		print_kinds(out, command);
	complete = print_options(out, command, kind, all);
	fputs("\nexamples:\n", out);
	for (size_t i = 0; *example && (all || i < EXAMPLES); i++, example += 2)
		fprintf(out, "  %s\n      %s\n", example[0], example[1]);
	fputs("\nexit status:\n", out);
	for (const char *const *line = command->exits; *line; line += 2)
		print_term(out, CODE, line[0], line[1]);
	if (!complete)
		fprintf(out, "\n%s-%s(1) and --help-all have all options.\n",
			error_program_name(), command->name);
}
