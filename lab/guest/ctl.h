/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A spinner's command socket, from the other end. */
#ifndef LAB_CTL_H
#define LAB_CTL_H

#include <stddef.h>

#define SPINNER_SOCKET "/run/spinner.sock"

/* Longer than a spinner takes to answer; what it is asked to do itself may take any time. */
#define SPINNER_MS 10000

/* Sends one command and takes its one-line answer within @ms; 0 or -errno. */
int spinner_ask(const char *path, const char *command, char *answer, size_t size, long ms);
/* The number after "key": in a line of JSON, -1 when it is not there. */
long long spinner_number(const char *json, const char *key);

#endif
