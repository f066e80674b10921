// SPDX-License-Identifier: GPL-2.0-or-later
/* What manual pages have of the tables: sections that say what --help says. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "options/dispatch.h"
#include "options/help.h"

/* Text for the formatter: no dash that is not one, no line that is a request. */
static void put_roff(FILE *out, const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
	}
}

/* " (latency, noise only)" */
static void put_kinds(FILE *out, const struct command *command, const struct option_spec *spec)
{
	const char *before = " (";

	if (!command->kinds || !spec->kinds)
		return;
	for (const struct command_kind *kind = command->kinds; kind->name; kind++) {
		if (!options_has(command, kind, spec))
			continue;
		fprintf(out, "%s%s", before, kind->name);
		before = ", ";
	}
	fputs(" only)", out);
}

static void put_options(FILE *out, const struct program *program, const struct command *command)
{
	(void)program;
	fputs(".SH OPTIONS\n", out);
	for (const struct option_spec *spec = help_visible(command->options); spec->name;
	     spec = help_visible(spec + 1)) {
		fprintf(out, ".TP\n.%s \"", spec->argument ? "BI" : "B");
		if (spec->letter)
			fprintf(out, "\\-%c, ", spec->letter);
		fputs("\\-\\-", out);
		put_roff(out, spec->name);
		if (spec->argument)
			fprintf(out, " \" %s\n", spec->argument);
		else
			fputs("\"\n", out);
		put_roff(out, spec->about);
		put_kinds(out, command, spec);
		if (spec->type == OPTION_TIME)
			fprintf(out, ".\nA number alone is in %s", spec->unit);
		fputc('\n', out);
	}
}

/* Pairs of what is typed, or comes, and what that means; NULL ends. */
static void put_pairs(FILE *out, const char *const *pairs)
{
	for (; pairs && *pairs; pairs += 2) {
		fputs(".TP\n\\fB", out);
		put_roff(out, pairs[0]);
		fputs("\\fP\n", out);
		put_roff(out, pairs[1]);
		fputc('\n', out);
	}
}

static void put_exits(FILE *out, const struct program *program, const struct command *command)
{
	(void)program;
	fputs(".SH EXIT STATUS\n", out);
	put_pairs(out, command->exits);
}

static void put_examples(FILE *out, const struct program *program, const struct command *command)
{
	(void)program;
	fputs(".SH EXAMPLES\n", out);
	put_pairs(out, command->examples);
	for (const struct command_kind *kind = command->kinds; kind && kind->name; kind++)
		put_pairs(out, kind->examples);
}

/* All subcommands, each with what it does; those that every program has are on no page. */
static void put_commands(FILE *out, const struct program *program, const struct command *command)
{
	const struct heading *heading = program->headings;

	for (const struct command *const *c = program->subcommands; *c; c++) {
		bool own = (*c)->options == dispatch_options;

		if (*c == heading->first) {
			fprintf(out, ".SS %c%s\n", toupper(heading->text[0]), heading->text + 1);
			heading++;
		}
		if ((*c)->hidden)
			continue;
		fprintf(out, ".TP\n.BR \"%s%s%s\"%s\n", command->name, own ? " " : "\\-",
			(*c)->name, own ? "" : " (1)");
		put_roff(out, (*c)->summary);
		fputc('\n', out);
	}
}

void help_manual(FILE *out, FILE *page, const struct program *program,
		 const struct command *command)
{
	static const struct {
		const char *line;
		void (*put)(FILE *out, const struct program *program,
			    const struct command *command);
	} sections[] = {
		{ ".\\\" options\n", put_options },
		{ ".\\\" exit status\n", put_exits },
		{ ".\\\" examples\n", put_examples },
		{ ".\\\" commands\n", put_commands },
	};
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, page) > 0) {
		size_t i = 0;

		while (i < ARRAY_SIZE(sections) && strcmp(line, sections[i].line))
			i++;
		if (i < ARRAY_SIZE(sections))
			sections[i].put(out, program, command);
		else
			fputs(line, out);
	}
	free(line);
}
