// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/term.h"

static const char *program = "isolator";
static const char *running;
static char *said;

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

/* One more line; without memory the last one. */
static void keep(char *text)
{
	char *all;

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
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	/* Names of tasks, files of a capture: a message is for people, not for their terminal. */
	if (text)
		term_clean(text);
	/* What was printed so far comes first, also when both go to one place. */
	fflush(stdout);
	fprintf(stderr, "%s%s%s: %s\n", program, running ? " " : "", running ? running : "",
		text ? text : "no memory");
	if (text)
		keep(text);
	return EXIT_ERROR;
}
