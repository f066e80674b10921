/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A spinner's command socket, from the other end. */
#ifndef LAB_CTL_H
#define LAB_CTL_H

#include <stddef.h>

#define SPINNER_SOCKET "/run/spinner.sock"

/* Sends one command and takes its one-line answer; 0 or -errno. */
int spinner_ask(const char *path, const char *command, char *answer, size_t size);
/* The number after "key": in a line of JSON, -1 when it is not there. */
long long spinner_number(const char *json, const char *key);

#endif
