/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands that have files of their own. */
#ifndef COMMAND_H
#define COMMAND_H

#include "options/options.h"

extern const struct command attach_command;
extern const struct command attribute_command;
extern const struct command audit_command;
extern const struct command configure_command;
extern const struct command detach_command;
extern const struct command export_command;
extern const struct command interfere_command;
extern const struct command measure_command;
extern const struct command prove_command;
extern const struct command restore_command;
extern const struct command run_command;
extern const struct command shield_command;
extern const struct command status_command;
extern const struct command watch_command;
extern const struct command why_command;

#endif
