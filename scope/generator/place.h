/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On which CPU a thread runs. */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>

/*
 * The last CPU that the main thread, which is bound to none of them, may use, other than
 * @but (-1: any).  -1: there is none.
 */
int place_choose(int but);

/* Binds the calling thread to @cpu; -1 leaves it where it is.  False: errno says why. */
bool place_current(int cpu);

/* May a thread be bound to @cpu?  The calling one is where it was.  False: errno says why. */
bool place_try(int cpu);

#endif
