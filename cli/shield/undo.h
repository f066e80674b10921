/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is undone of a shield (notes.h): only what it has given itself, and nobody has
 * changed since.  The functions are those of struct undo_kind.
 */
#ifndef SHIELD_UNDO_H
#define SHIELD_UNDO_H

#include <stdbool.h>

struct undo_context;

bool shield_undo_file(struct undo_context *context, char **fields);
bool shield_undo_task(struct undo_context *context, char **fields);

/* Tasks that began while it was set have what it gave to whoever began them. */
bool shield_undo_heirs(struct undo_context *context, const char *text);

char *shield_undo_cpus(const char *text);

#endif
