/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is undone of isolator run and attach: the functions are those of struct undo_kind.
 * Lines of their journals (journal/journal.h):
 *	controller PATH NAME TEXT
 *	group PATH ORIGIN -
 *	attach TID START LIST POLICY PRIORITY
 * controller: NAME was turned on in PATH, which showed TEXT; others may have come and gone
 * since.  group: the cgroup PATH was made, and what runs in it goes back to the cgroup ORIGIN.
 * attach: a task, which began at START by the kernel's clock, was isolated, and had the affinity
 * LIST and this policy; the blanks are within the field.
 */
#ifndef RUN_UNDO_H
#define RUN_UNDO_H

#include <stdbool.h>

#define RUN_CONTROLLER "controller"
#define RUN_GROUP "group"
#define RUN_ATTACH "attach"

struct journal;
struct undo_context;

bool run_undo_controller(struct undo_context *context, char **fields);
int run_share_controller(struct journal *journal, char **fields);

/* What runs in the cgroup goes back where it was. */
bool run_undo_group(struct undo_context *context, char **fields);

/* The isolation of an attached task ends, and it gets back what it had. */
bool run_undo_attach(struct undo_context *context, char **fields);

#endif
