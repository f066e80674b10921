/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LAB_AGENT_H
#define LAB_AGENT_H

double now(void);
void sleep_ms(long ms);

/* A serial port without a terminal's habits. */
void port_raw(int port);

/* Opens the port that orders come on, to be read; -1: there is none. */
int port_open(const char *path);

#endif /* LAB_AGENT_H */
