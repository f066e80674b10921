// SPDX-License-Identifier: GPL-2.0-or-later
/* For fish: one line a word, with the condition under which it is offered. */
#include "options/completion.h"
#include "options/help.h"

/* @text within single quotes. */
static void put_quoted(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void about(FILE *out, const char *text)
{
	fputs(" -d '", out);
	put_quoted(out, text);
	fputs("'\n", out);
}

/* -x: it takes a word, and no file; -r: it takes a word. */
static void argument(FILE *out, const struct option_spec *spec)
{
	switch (spec->type) {
	case OPTION_CPUS:
		fputs(" -x -a \"(" COMPLETION_CPUS ")\"", out);
		break;
	case OPTION_DIRECTORY:
		fputs(" -x -a '(__fish_complete_directories (commandline -ct))'", out);
		break;
	case OPTION_FILE:
	case OPTION_INPUT:
	case OPTION_OUTPUT:
		fputs(" -r -F", out);
		break;
	case OPTION_USER:
		fputs(" -x -a '(__fish_complete_users)'", out);
		break;
	case OPTION_WORD:
		fputs(" -x -a '", out);
		completion_choices(out, spec);
		fputc('\'', out);
		break;
	default:
		fputs(" -x", out);
		break;
	}
}

/* @condition: when options of @command, or of one @kind of it, are offered. */
static void options(FILE *out, const char *program, const char *condition,
		    const struct command *command, const struct command_kind *kind)
{
	for (const struct option_spec *spec = help_visible(command->options); spec->name;
	     spec = help_visible(spec + 1)) {
		/* Those that all kinds have are offered without one. */
		if (kind ? !spec->kinds || !options_has(command, kind, spec) : !!spec->kinds)
			continue;
		fprintf(out, "complete -c %s -n '%s %s%s%s' -l %s", program, condition,
			command->name, kind ? " " : "", kind ? kind->name : "", spec->name);
		if (spec->letter)
			fprintf(out, " -s %c", spec->letter);
		if (spec->argument)
			argument(out, spec);
		about(out, spec->about);
	}
}

static void commands(FILE *out, const char *program, const char *condition, const char *of,
		     const struct command *const *subcommands)
{
	for (; *subcommands; subcommands++) {
		if ((*subcommands)->hidden)
			continue;
		fprintf(out, "complete -c %s -n '%s %s' -a %s", program, condition, of,
			(*subcommands)->name);
		about(out, (*subcommands)->summary);
	}
}

void completion_fish(FILE *out, const struct command *program,
		     const struct command *const *subcommands)
{
	char first[64], within[64];

	snprintf(first, sizeof(first), "__%s_first", program->name);
	snprintf(within, sizeof(within), "__%s_within", program->name);
	fprintf(out,
		"# fish completion for %s; written by: %s completion fish\n"
		"function %s\n\ttest (count (commandline -opc)) -eq 1\nend\n"
		"function %s\n\tset -l words (commandline -opc)\n"
		"\ttest (count $words) -ge 2; and test $words[2] = $argv[1]\n"
		"\tand begin\n\t\ttest (count $argv) -lt 2\n"
		"\t\tor contains -- $argv[2] $words\n\tend\nend\n"
		"complete -c %s -f\n",
		program->name, program->name, first, within, program->name);
	commands(out, program->name, first, program->name, subcommands);
	options(out, program->name, first, program, NULL);
	for (const struct command *const *c = subcommands; *c; c++) {
		if ((*c)->hidden)
			continue;
		if ((*c)->names_commands)
			commands(out, program->name, within, (*c)->name, subcommands);
		if ((*c)->words)
			fprintf(out, "complete -c %s -n '%s %s' -a '%s'\n", program->name, within,
				(*c)->name, (*c)->words);
		options(out, program->name, within, *c, NULL);
		for (const struct command_kind *kind = (*c)->kinds; kind && kind->name; kind++)
			options(out, program->name, within, *c, kind);
	}
}
