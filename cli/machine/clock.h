/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How this machine's clocks are read. */
#ifndef MACHINE_CLOCK_H
#define MACHINE_CLOCK_H

#include <time.h>

/*
 * Does a program read @clock in user mode (1), or by a system call (0)?  -1: it cannot be
 * told here.  Forks.
 */
int clock_in_user_mode(clockid_t clock);

#endif
