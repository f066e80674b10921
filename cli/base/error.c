// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/term.h"

#define DEBUGFS "/sys/kernel/debug/"
#define KEPT 100	/* messages that error_said() repeats */
#define ERROR_HANG 2	/* how far the lines below the first are to the right */

static const char *program = "isolator";
static const char *running;
static char *said;
static unsigned int saids;
static const char *lettered[UCHAR_MAX + 1];	/* names of options, by the letter given */

void error_program(const char *name)
{
	program = name;
}

const char *error_program_name(void)
{
	return program;
}

void error_command(const char *name)
{
	running = name;
}

const char *error_said(void)
{
	return said;
}

void error_option_given(const char *name, char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(lettered); i++)
		if (lettered[i] && !strcmp(lettered[i], name))
			lettered[i] = NULL;
	if (letter)
		lettered[(unsigned char)letter] = name;
}

const char *error_option(const char *name)
{
	static char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(lettered); i++) {
		if (lettered[i] && !strcmp(lettered[i], name)) {
			snprintf(text, sizeof(text), "-%c", (char)i);
			return text;
		}
	}
	snprintf(text, sizeof(text), "--%s", name);
	return text;
}

/* One more line; without memory the last one.  Whoever causes them without end gets a bound. */
static void keep(char *text)
{
	char *all;

	if (++saids > KEPT) {
		free(text);
		if (saids > KEPT + 1)
			return;
		text = strdup("there was more to say: standard error has all of it");
		if (!text)
			return;
	}
	if (!said || asprintf(&all, "%s\n%s", said, text) < 0) {
		free(said);
		said = text;
		return;
	}
	free(text);
	free(said);
	said = all;
}

int error_say(const char *format, ...)
{
	va_list arguments;
	char *text, *line;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	/* Names of tasks, files of a capture: a message is for people, not for their terminal. */
	if (text)
		term_clean(text);
	/* What was printed so far comes first, also when both go to one place. */
	fflush(stdout);
	if (asprintf(&line, "%s%s%s: %s", program, running ? " " : "", running ? running : "",
		     text ? text : "no memory") < 0) {
		fprintf(stderr, "%s: no memory\n", program);
	} else {
		/* In a log or for another program an error is one line. */
		if (isatty(STDERR_FILENO))
			term_fold(stderr, line, term_columns(stderr), ERROR_HANG);
		else
			fprintf(stderr, "%s\n", line);
		free(line);
	}
	if (text)
		keep(text);
	return EXIT_ERROR;
}

_Noreturn void error_no_memory(void)
{
	exit(error_say(ERROR_NO_MEMORY));
}

const char *error_unless_root(const char *otherwise)
{
	return geteuid() ? "run it as root" : otherwise;
}

const char *error_denied(void)
{
	return error_unless_root("a container or a security module keeps root from it: do it outside of that");
}

bool error_locked_down(const char *path, int error)
{
	return error == EPERM && !strncmp(path, DEBUGFS, strlen(DEBUGFS));
}
