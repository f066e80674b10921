/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scripts that complete a program's words, written from the tables of options.h. */
#ifndef COMPLETION_H
#define COMPLETION_H

#include <stdio.h>

#include "options/options.h"

/* Subcommands of @program, their options, and what these take: one function a shell. */
void completion_bash(FILE *out, const struct command *program,
		     const struct command *const *subcommands);
void completion_zsh(FILE *out, const struct command *program,
		    const struct command *const *subcommands);
void completion_fish(FILE *out, const struct command *program,
		     const struct command *const *subcommands);

/* What all shells offer where CPUs are wanted: those that are isolated. */
#define COMPLETION_CPUS "sed -n 's/^isolated //p' /proc/isolator/status 2>/dev/null"

/*
 * The choices of OPTION_WORD, "a|b", with blanks between; those of all kinds, whose options of
 * one name stand one behind the other.
 */
void completion_choices(FILE *out, const struct option_spec *spec);

#endif
