/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written from the tables of options.h. */
#ifndef HELP_H
#define HELP_H

#include <stdio.h>

#include "options/options.h"

struct program;

/* --help of the program, which lists its subcommands, and that of one of them. */
void help_program(FILE *out, const struct program *program);
void help_command(FILE *out, const struct command *command);

/* The OPTIONS section of a manual page. */
void help_manual(FILE *out, const struct command *command);

/* The first from @spec on that is for users; the table's end if there is none. */
const struct option_spec *help_visible(const struct option_spec *spec);

#endif
