/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sleeping between samples, until somebody has seen enough. */
#ifndef WAIT_H
#define WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* From here on Ctrl-C, SIGTERM and SIGHUP end a wait, not the program. */
void wait_prepare(void);

/* Sleep until @when, CLOCK_MONOTONIC; false: such a signal came. */
bool wait_until(uint64_t when_ns);

/* CLOCK_MONOTONIC */
uint64_t wait_clock_ns(void);

#endif
