/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAB_AGENT_H
#define LAB_AGENT_H

#include <stdbool.h>
#include <stddef.h>

double now(void);
void sleep_ms(long ms);

/* One command to the spinner; 0, or -1 when no answer came within @ms. */
int ctl_ask(const char *command, char *answer, size_t size, long ms);

/* The number that stands behind "@key": in a line of JSON. */
bool ctl_number(const char *json, const char *key, long *value);

/* A serial port without a terminal's habits. */
void port_raw(int port);

/* Opens the port that orders come on, to be read; -1: there is none. */
int port_open(const char *path);

#endif /* LAB_AGENT_H */
