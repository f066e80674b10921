/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is undone of isolator run and attach: the functions are those of struct undo_kind. */
#ifndef RUN_UNDO_H
#define RUN_UNDO_H

#include <stdbool.h>

struct undo_context;

bool run_undo_controller(struct undo_context *context, char **fields);

/* What runs in the cgroup goes back where it was. */
bool run_undo_group(struct undo_context *context, char **fields);

/* The isolation of an attached task ends, and it gets back what it had. */
bool run_undo_attach(struct undo_context *context, char **fields);

#endif
