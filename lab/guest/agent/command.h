/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAB_COMMAND_H
#define LAB_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* The words of a job's line: @rest is "MS COMMAND". Reports the command when it is over. */
void command_run(char *name, char *rest);

/* In the background. */
void command_start(char *name, char *command);

/* Ends a started one and reports it: @rest is "MS". */
void command_kill(char *name, char *rest);

/* Takes in every child that has ended; orphans too, as process 1 must. */
void command_reap(void);

/* Has a started one of this name ended?  Then @text says how, and what it has said. */
bool command_ended(const char *name, char *text, size_t size);

#endif /* LAB_COMMAND_H */
