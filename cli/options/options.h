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
	OPTION_FLAG,		/* to.flag becomes true */
	OPTION_NUMBER,		/* to.number, at least min */
	OPTION_SECONDS,		/* to.ns, more than 0; in seconds, or with a unit */
	OPTION_TIME,		/* to.ns, more than 0; argument, as "MS" or "MS|never", says
				 * the unit of a bare number, and whether it may be UINT64_MAX */
	OPTION_CPUS,		/* to.cpus */
	OPTION_DIRECTORY,	/* to.text */
	OPTION_FILE,		/* to.text; may be a directory too */
	OPTION_USER,		/* to.text; the name of a user */
	OPTION_WORD,		/* to.number: which one of those in argument, "a|b" */
	OPTION_TEXTS,		/* to.texts, one more each time */
};

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
};

/* Each table's first entry. */
#define OPTION_HELP_SPEC { "help", 'h', OPTION_HELP, NULL, "this text", { NULL }, 0 }

/* A command line, and what is said of it; the texts of exits and examples are lines. */
struct command {
	const char *name;
	const char *operands;	/* as the usage shows them; NULL: it takes none */
	const char *words;	/* what completion offers as operands, may be NULL */
	bool names_commands;	/* it offers the subcommands */
	int min_operands, max_operands;
	const char *summary;	/* a few words, for the list of subcommands */
	const char *about;	/* a paragraph */
	const struct option_spec *options;
	const char *const *examples;	/* pairs: a command line, what it does; NULL ends */
	const char *const *exits;	/* pairs: a code, what it says; NULL ends */
	int failed;		/* its exit code for wrong options; 0: EXIT_ERROR */
	bool hidden;		/* for the build, not for users */
	int (*run)(int argc, char **argv);	/* the operands; returns the exit code */
};

enum options_result {
	OPTIONS_RUN,		/* operands begin at optind */
	OPTIONS_WANT_HELP,
	OPTIONS_WRONG,		/* said why */
};

/*
 * @argv[0] is the command's name.  Stops at the first operand where any number of them
 * may follow; else they are moved to the end.
 */
enum options_result options_parse(const struct command *command, int argc, char **argv);

/*
 * A time: a number with its unit, or in that of @argument, as OPTION_TIME has it.  False:
 * @text is none.
 */
bool options_time(const char *text, const char *argument, uint64_t *ns);

#endif
