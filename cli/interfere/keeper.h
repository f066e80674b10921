/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that a load is: it begins the load's processes, and ends them when it is
 * told to, when one of them ends, or when the process that opened the load ends, however
 * that ends.  It is in a session of its own, so no terminal's signal reaches it, and it
 * adopts whatever its processes leave behind.  If it is killed itself, its processes
 * get SIGKILL, and programs that they have started SIGTERM; the directory of files stays,
 * and is removed by the next load that has one (scratch.h).
 */
#ifndef KEEPER_H
#define KEEPER_H

#include <signal.h>

#include "interfere/work.h"

#define KEEPER_START SIGUSR1
#define KEEPER_STOP SIGTERM

/* Never returns.  @parent is who opened the load. */
void keeper_run(struct work *work, pid_t parent) __attribute__((noreturn));

#endif
