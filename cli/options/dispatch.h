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

/*
 * The subcommands that every program has, as a struct command.  What follows are its examples:
 * commands, each with what it is for.
 */
#define DISPATCH_HELP(...) { \
	.name = "help", \
	.operands = "[COMMAND [KIND]]", \
	.names_commands = true, \
	.max_operands = 2, \
	.summary = "show what a command does, its options and exit codes", \
	.about = "Shows the help of a command, or of the whole program.", \
	.options = dispatch_options, \
	.examples = (const char *const []){ __VA_ARGS__, NULL }, \
	.exits = dispatch_exits, \
	.run = dispatch_help, \
}

#define DISPATCH_COMPLETION(...) { \
	.name = "completion", \
	.operands = "bash|zsh|fish", \
	.words = "bash zsh fish", \
	.min_operands = 1, \
	.max_operands = 1, \
	.summary = "print a script that completes commands in your shell", \
	.about = "Prints a script that lets your shell complete commands and options.", \
	.options = dispatch_options, \
	.examples = (const char *const []){ __VA_ARGS__, NULL }, \
	.exits = dispatch_exits, \
	.run = dispatch_completion, \
}

#define DISPATCH_MANUAL(...) { \
	.name = "manual", \
	.operands = "[COMMAND]", \
	.max_operands = 1, \
	.about = "Fills a manual page, read from standard input, with what --help says.", \
	.options = dispatch_options, \
	.examples = (const char *const []){ __VA_ARGS__, NULL }, \
	.exits = dispatch_exits, \
	.hidden = true, \
	.run = dispatch_manual, \
}

extern const struct option_spec dispatch_options[];	/* no other than --help */
extern const char *const dispatch_exits[];

/* What they run. */
int dispatch_help(int argc, char **argv);
int dispatch_completion(int argc, char **argv);
int dispatch_manual(int argc, char **argv);

#endif
