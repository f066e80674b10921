/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written from the tables of options.h. */
#ifndef HELP_H
#define HELP_H

#include <stdio.h>

#include "options/options.h"

struct program;

/*
 * --help of the program, which lists its subcommands, and that of one of them, or of one kind of
 * it; @kind may be NULL.  With @all it is --help-all.
 */
void help_program(FILE *out, const struct program *program);
void help_command(FILE *out, const struct command *command, const struct command_kind *kind,
		  bool all);

/*
 * A manual page: where the source @page has a line '.\" options', '.\" exit status',
 * '.\" examples' or '.\" commands', that is written.
 */
void help_manual(FILE *out, FILE *page, const struct program *program,
		 const struct command *command);

/* The first from @spec on that is for users; the table's end if there is none. */
const struct option_spec *help_visible(const struct option_spec *spec);

/* The same, of @kind; NULL: of those that all kinds have. */
const struct option_spec *help_of(const struct command *command, const struct command_kind *kind,
				  const struct option_spec *spec);

/* The same; of options that kinds of @command have by one name only the first counts. */
const struct option_spec *help_named(const struct command *command,
				     const struct option_spec *spec);

#endif
