/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the instruments say together. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdio.h>

#include "prove/watcher.h"

enum verdict { VERDICT_QUIET, VERDICT_NOT_QUIET, VERDICT_INCONCLUSIVE, VERDICT_SKIPPED };

extern const char *const verdict_names[];

/* Of a run that came to its end. */
enum verdict verdict_find(const struct watch *watch);

/* The exit code that says it. */
int verdict_exit(enum verdict verdict);

/* The instruments whose 0 proves something, by name. */
void verdict_witnesses(FILE *out, const struct watch *watch);

/*
 * One line of at most 100 columns, or more if it says why an isolation ended, without its
 * end; to be freed.
 */
char *verdict_words(const struct watch *watch);

#endif
