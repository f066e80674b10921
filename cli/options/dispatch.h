/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program with subcommands: which one is meant, and what they all have. */
#ifndef DISPATCH_H
#define DISPATCH_H

#include <stdbool.h>

#include "options/options.h"

/* What subcommands are for that stand together, and the first of them. */
struct heading {
	const char *text;
	const struct command *first;
};

struct program {
	const struct command *command;	/* the program itself; nothing runs it */
	const struct command *const *subcommands;	/* NULL ends */
	const struct heading *headings;	/* in their order; a NULL ends */
	const bool *want_version;	/* its option */
};

/* The exit code; a full disk is an error too. */
int dispatch(const struct program *program, int argc, char **argv);

extern const struct option_spec dispatch_options[];	/* no other than --help */
extern const char *const dispatch_exits[];

/* What the commands run that stand for no room: help, completion and manual. */
int dispatch_help(int argc, char **argv);
int dispatch_completion(int argc, char **argv);
int dispatch_manual(int argc, char **argv);

#endif
