/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of others that a load runs, one after another. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>

#include "interfere/work.h"

/* Is there such a program in PATH? */
bool program_exists(const char *name);

/*
 * Runs it to its end and returns its exit status, or 128 and the number of a signal.
 * It says nothing: what it writes to stderr is in @said.  It gets SIGTERM if the calling
 * process ends first.  Fails the load if it cannot begin.
 */
int program_run(struct work *work, const char *const *arguments, char said[WORK_TEXT]);

/* All that it writes to stdout and stderr, for missing(): to be freed; NULL: it fails. */
char *program_said(const char *const *arguments);

#endif
