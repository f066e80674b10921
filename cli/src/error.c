// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

static const char *program = "isolator";
static const char *running;

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

int error_say(const char *format, ...)
{
	va_list arguments;

	/* What was printed so far comes first, also when both go to one place. */
	fflush(stdout);
	fprintf(stderr, "%s%s%s: ", program, running ? " " : "", running ? running : "");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return EXIT_ERROR;
}
