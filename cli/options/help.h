/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written from the tables of options.h. */
#ifndef HELP_H
#define HELP_H

#include <stdio.h>

#include "options/options.h"

/* --help of the program, which lists @subcommands, or of a subcommand: NULL. */
void help_print(FILE *out, const struct command *command,
		const struct command *const *subcommands);

/* The OPTIONS section of a manual page. */
void help_manual(FILE *out, const struct command *command);

/* The first from @spec on that is for users; the table's end if there is none. */
const struct option_spec *help_visible(const struct option_spec *spec);

#endif
