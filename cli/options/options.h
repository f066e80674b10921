/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One table says all of a subcommand's options: from it they are parsed, and help,
 * completion and the manual's section are written (help.h).
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"

/* What an option that may be given several times was given. */
struct option_texts {
	const char **texts;
	size_t count;
};

enum option_type {
	OPTION_HELP,
	OPTION_HELP_ALL,
	OPTION_FLAG,		/* to.flag becomes true */
	OPTION_NUMBER,		/* to.number, at least min */
	OPTION_TIME,		/* to.ns, more than 0; a bare number is in unit; where argument
				 * is "TIME|never", UINT64_MAX is never */
	OPTION_CPUS,		/* to.cpus */
	OPTION_DIRECTORY,	/* to.text, not "-" */
	OPTION_FILE,		/* to.text, not "-"; may be a directory too */
	OPTION_INPUT,		/* to.text; a file to read, OPTION_STDIO is standard input */
	OPTION_OUTPUT,		/* to.text; a file to write, OPTION_STDIO is standard output */
	OPTION_USER,		/* to.text; the name of a user */
	OPTION_WORD,		/* to.number: which one of those in argument, "a|b" */
	OPTION_TEXTS,		/* to.texts, one more each time */
};

#define OPTION_STDIO "-"

struct option_spec {
	const char *name;	/* without the dashes; NULL ends the table */
	char letter;		/* 0: none */
	enum option_type type;
	const char *argument;	/* its name; NULL: it takes none */
	const char *about;	/* NULL: for tests, not for users */
	union {
		bool *flag;
		unsigned int *number;
		uint64_t *ns;
		struct cpulist *cpus;
		const char **text;
		struct option_texts *texts;
	} to;
	unsigned int min;
	const char *unit;	/* of OPTION_TIME: "s", "ms", "us" */
	bool zero;		/* OPTION_TIME: 0 is a time, too */
	bool rare;		/* --help leaves it to --help-all and the manual */
	unsigned int kinds;	/* it is only for these of the command's kinds, a bit each; 0: all */
};

/* Each table's first entry. */
#define OPTION_HELP_SPEC \
	{ "help", 'h', OPTION_HELP, NULL, "show this help", .rare = false }

/* The second entry of a table that has rare options. */
#define OPTION_HELP_ALL_SPEC \
	{ "help-all", 0, OPTION_HELP_ALL, NULL, "show all options and examples", .rare = true }

/* One of the things that a command does, named by its first operand. */
struct command_kind {
	const char *name;
	const char *summary;	/* in the imperative, a few words */
	const char *about;	/* a paragraph */
	const char *const *examples;	/* as a command has them */
};

/* A command line, and what is said of it; the texts of exits and examples are lines. */
struct command {
	const char *name;
	const char *operands;	/* as the usage shows them; NULL: it takes none */
	const char *words;	/* what completion offers as operands, may be NULL */
	bool names_commands;	/* it offers the subcommands */
	int min_operands, max_operands;
	const struct command_kind *kinds;	/* a NULL name ends; NULL: it does one thing */
	const char *summary;	/* in the imperative, a few words, for the list of subcommands */
	const char *about;	/* a paragraph */
	const struct option_spec *options;
	const char *const *examples;	/* pairs: a command line, what it does; NULL ends */
	const char *const *exits;	/* pairs: a code, what it says; NULL ends */
	int failed;		/* its exit code for wrong options; 0: EXIT_ERROR */
	bool hidden;		/* for the build, not for users */
	/* A failure that printed no document of this schema prints one, if @json is set. */
	const char *schema;
	const bool *json;
	int (*run)(int argc, char **argv);	/* the operands; returns the exit code */
};

enum options_result {
	OPTIONS_RUN,		/* operands begin at optind */
	OPTIONS_WANT_HELP,
	OPTIONS_WANT_HELP_ALL,
	OPTIONS_WRONG,		/* said why */
};

/*
 * @argv[0] is the command's name.  Stops at the first operand where any number of them
 * may follow; else they are moved to the end.  @kind is the one that the first operand names,
 * or NULL.
 */
enum options_result options_parse(const struct command *command, int argc, char **argv,
				  const struct command_kind **kind);

/* The kind of @command that @name names; NULL: none. */
const struct command_kind *options_kind(const struct command *command, const char *name);

/* Has @kind, or with NULL any kind or all of @command, this option? */
bool options_has(const struct command *command, const struct command_kind *kind,
		 const struct option_spec *spec);

#endif
