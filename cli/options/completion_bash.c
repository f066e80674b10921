// SPDX-License-Identifier: GPL-2.0-or-later
/* For bash: compgen does the work, whatever was typed before the word. */
#include <string.h>

#include "options/completion.h"
#include "options/help.h"

void completion_choices(FILE *out, const struct option_spec *spec)
{
	const char *name = spec->name, *space = "";

	for (; spec->name && !strcmp(spec->name, name); spec++, space = " ") {
		fputs(space, out);
		for (const char *at = spec->argument; *at; at++)
			fputc(*at == '|' ? ' ' : *at, out);
	}
}

/* What completes one option's argument, as compgen's; nothing: nothing does. */
static void bash_argument(FILE *out, const struct option_spec *spec)
{
	switch (spec->type) {
	case OPTION_CPUS:
		fputs("-W \"$(" COMPLETION_CPUS ")\"", out);
		break;
	case OPTION_DIRECTORY:
		fputs("-d", out);
		break;
	case OPTION_FILE:
	case OPTION_INPUT:
	case OPTION_OUTPUT:
		fputs("-f", out);
		break;
	case OPTION_USER:
		fputs("-u", out);
		break;
	case OPTION_WORD:
		fputs("-W '", out);
		completion_choices(out, spec);
		fputc('\'', out);
		break;
	default:
		break;
	}
}

static void bash_option(FILE *out, const struct command *command,
			const struct option_spec *spec)
{
	bool completed = spec->type == OPTION_CPUS || spec->type == OPTION_DIRECTORY ||
		spec->type == OPTION_FILE || spec->type == OPTION_INPUT ||
		spec->type == OPTION_OUTPUT || spec->type == OPTION_USER || spec->type == OPTION_WORD;

	fprintf(out, "\t%s:--%s", command->name, spec->name);
	if (spec->letter)
		fprintf(out, " | %s:-%c", command->name, spec->letter);
	fputs(")\n", out);
	if (completed) {
		fputs("\t\tmapfile -t COMPREPLY < <(compgen ", out);
		bash_argument(out, spec);
		fputs(" -- \"$word\")\n", out);
	}
	fputs("\t\treturn\n\t\t;;\n", out);
}

static void bash_words(FILE *out, const struct command *command, const struct command_kind *kind,
		       const struct command *const *subcommands)
{
	const char *space = "";

	for (; subcommands && *subcommands; subcommands++) {
		if ((*subcommands)->hidden)
			continue;
		fprintf(out, "%s%s", space, (*subcommands)->name);
		space = " ";
	}
	for (const struct option_spec *spec = help_of(command, kind, command->options); spec->name;
	     spec = help_of(command, kind, spec + 1)) {
		fprintf(out, "%s--%s", space, spec->name);
		space = " ";
	}
}

void completion_bash(FILE *out, const struct command *program,
		     const struct command *const *subcommands)
{
	fprintf(out,
		"# bash completion for %s; written by: %s completion bash\n"
		"_%s()\n{\n"
		"\tlocal word=${COMP_WORDS[COMP_CWORD]} words=\n\n"
		"\tCOMPREPLY=()\n"
		"\tcase ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD - 1]} in\n",
		program->name, program->name, program->name);
	for (const struct command *const *c = subcommands; *c; c++)
		for (const struct option_spec *spec = help_named(*c, (*c)->options); spec->name;
		     spec = help_named(*c, spec + 1))
			if (spec->argument && !(*c)->hidden)
				bash_option(out, *c, spec);
	fputs("\tesac\n\tif ((COMP_CWORD == 1)); then\n\t\twords=\"", out);
	bash_words(out, program, NULL, subcommands);
	fputs("\"\n\telse\n\t\tcase ${COMP_WORDS[1]}:${COMP_WORDS[2]} in\n", out);
	for (const struct command *const *c = subcommands; *c; c++) {
		if ((*c)->hidden)
			continue;
		for (const struct command_kind *kind = (*c)->kinds; kind && kind->name; kind++) {
			fprintf(out, "\t\t%s:%s) words=\"", (*c)->name, kind->name);
			bash_words(out, *c, kind, NULL);
			fputs("\" ;;\n", out);
		}
		fprintf(out, "\t\t%s:*) words=\"", (*c)->name);
		bash_words(out, *c, NULL, (*c)->names_commands ? subcommands : NULL);
		if ((*c)->words)
			fprintf(out, " %s", (*c)->words);
		fputs("\" ;;\n", out);
	}
	fprintf(out, "\t\tesac\n\tfi\n"
		"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\n"
		"complete -F _%s %s\n", program->name, program->name);
}
