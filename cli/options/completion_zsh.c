// SPDX-License-Identifier: GPL-2.0-or-later
/* For zsh: subcommands and options with what they do. */
#include "options/completion.h"
#include "options/help.h"

/* @text within single quotes; a colon would end what _describe takes for the word. */
static void put_quoted(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (*text == ':')
			fputs("\\:", out);
		else
			fputc(*text, out);
	}
}

/* One entry of an array for _describe. */
static void entry(FILE *out, const char *dashes, const char *word, const char *about)
{
	fprintf(out, "\t\t\t'%s%s:", dashes, word);
	put_quoted(out, about);
	fputs("'\n", out);
}

static void argument(FILE *out, const struct option_spec *spec)
{
	switch (spec->type) {
	case OPTION_CPUS:
		fputs("compadd -- $(" COMPLETION_CPUS ")", out);
		break;
	case OPTION_DIRECTORY:
		fputs("_files -/", out);
		break;
	case OPTION_FILE:
	case OPTION_INPUT:
	case OPTION_OUTPUT:
		fputs("_files", out);
		break;
	case OPTION_USER:
		fputs("_users", out);
		break;
	case OPTION_WORD:
		fputs("compadd -- ", out);
		completion_choices(out, spec);
		break;
	default:
		fputs("_message '", out);
		put_quoted(out, spec->argument);
		fputc('\'', out);
		break;
	}
}

static void option(FILE *out, const struct command *command, const struct option_spec *spec)
{
	fprintf(out, "\t%s:--%s", command->name, spec->name);
	if (spec->letter)
		fprintf(out, " | %s:-%c", command->name, spec->letter);
	fputs(")\n\t\t", out);
	argument(out, spec);
	fputs("\n\t\treturn\n\t\t;;\n", out);
}

static void commands(FILE *out, const struct command *const *subcommands)
{
	fputs("\t\tlist=(\n", out);
	for (; *subcommands; subcommands++)
		if (!(*subcommands)->hidden)
			entry(out, "", (*subcommands)->name, (*subcommands)->summary);
	fputs("\t\t)\n\t\t_describe -t commands subcommand list\n", out);
}

static void options(FILE *out, const struct command *command, const struct command_kind *kind)
{
	fputs("\t\tlist=(\n", out);
	for (const struct option_spec *spec = help_of(command, kind, command->options); spec->name;
	     spec = help_of(command, kind, spec + 1))
		entry(out, "--", spec->name, spec->about);
	fputs("\t\t)\n\t\t_describe -o -t options option list\n", out);
}

void completion_zsh(FILE *out, const struct command *program,
		    const struct command *const *subcommands)
{
	fprintf(out,
		"#compdef %s\n"
		"# zsh completion for %s; written by: %s completion zsh\n"
		"_%s()\n{\n"
		"\tlocal -a list\n\n"
		"\tcase $words[2]:$words[CURRENT-1] in\n",
		program->name, program->name, program->name, program->name);
	for (const struct command *const *c = subcommands; *c; c++)
		for (const struct option_spec *spec = help_named(*c, (*c)->options); spec->name;
		     spec = help_named(*c, spec + 1))
			if (spec->argument && !(*c)->hidden)
				option(out, *c, spec);
	fputs("\tesac\n\tif ((CURRENT == 2)); then\n", out);
	commands(out, subcommands);
	options(out, program, NULL);
	fputs("\t\treturn\n\tfi\n\tcase $words[2]:$words[3] in\n", out);
	for (const struct command *const *c = subcommands; *c; c++) {
		if ((*c)->hidden)
			continue;
		for (const struct command_kind *kind = (*c)->kinds; kind && kind->name; kind++) {
			fprintf(out, "\t%s:%s)\n", (*c)->name, kind->name);
			options(out, *c, kind);
			fputs("\t\t;;\n", out);
		}
		fprintf(out, "\t%s:*)\n", (*c)->name);
		if ((*c)->names_commands)
			commands(out, subcommands);
		if ((*c)->words)
			fprintf(out, "\t\tcompadd -- %s\n", (*c)->words);
		options(out, *c, NULL);
		fputs("\t\t;;\n", out);
	}
	/* Where it is sourced, and not found by its name, it says itself what it completes. */
	fprintf(out, "\tesac\n}\n"
		"if [[ $funcstack[1] == _%s ]]; then\n\t_%s \"$@\"\nelse\n\tcompdef _%s %s\nfi\n",
		program->name, program->name, program->name, program->name);
}
