/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a command ends, and what it says when it cannot go on. */
#ifndef ERROR_H
#define ERROR_H

#include <stdbool.h>

/* The same in all of Isolator's programs. */
enum exit_code {
	EXIT_PASS = 0,
	EXIT_ERROR = 1,
	EXIT_EXCEEDED = 2,	/* there was a deadline miss, or a finding */
	EXIT_INCONCLUSIVE = 3,	/* there was nothing to look at */
	EXIT_SKIPPED = 77,	/* this machine has nothing to look with */
};

/* The program that runs, for the messages that follow and for help; without it isolator. */
void error_program(const char *name);
const char *error_program_name(void);

/* The subcommand that runs, for the messages that follow; NULL: none yet. */
void error_command(const char *name);

/*
 * The option --@name was given, by its @letter or, if that is 0, by its name: messages call it
 * as the user does, "-c" or "--cpu".  The text is valid until the next one is asked for.
 */
void error_option_given(const char *name, char letter);
const char *error_option(const char *name);

/*
 * "PROGRAM COMMAND: ..." to stderr, in lines that fit there, without what is for a terminal,
 * wherever its words come from.  Returns EXIT_ERROR.
 */
int error_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What error_say() says where there is no memory, and its caller undoes something first. */
#define ERROR_NO_MEMORY "no memory; free some, raise the limit (ulimit -v, the cgroup's), or ask for fewer CPUs"
/* Says so and exits. */
_Noreturn void error_no_memory(void);

/* What error_say() has said, a line each, and of very much the first part; NULL: nothing. */
const char *error_said(void);
/* What helps whoever lacks a right: to be root; for root, who lacks a part of them, @otherwise. */
const char *error_unless_root(const char *otherwise);

/* What helps whoever was denied something: to be root, or for root, to look for what forbids it. */
const char *error_denied(void);

/*
 * Is the kernel locked down, if opening @path failed with @error?  It refuses its debugfs
 * to everybody then, with EPERM; for want of rights a user gets EACCES.
 */
bool error_locked_down(const char *path, int error);
#define ERROR_LOCKED_DOWN "the kernel is locked down, as with Secure Boot, and lets nobody open it"

#endif
