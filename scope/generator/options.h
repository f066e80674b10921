/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of isolator-generator. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

/* The same in all of Isolator's programs. */
enum exit_code { EXIT_PASS = 0, EXIT_ERROR = 1, EXIT_INCONCLUSIVE = 3 };

struct options {
	const char *socket;	/* where targets connect; NULL with @calibrate */
	const char *listen;	/* where hosts do: ADDRESS:PORT */
	const char *token_file;	/* NULL: not said */
	uint64_t store;		/* bytes */
	uint32_t rounds;
	int cpu;		/* -1: not said */
	bool calibrate;		/* that only */
};

/* Ends the program when the command line is wrong, or asks for help or version only. */
void options_parse(struct options *options, int argc, char **argv);

/* "isolator-generator: ..." to stderr. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and ends the program with EXIT_ERROR. */
noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
