/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much memory a load takes on each CPU: that of its caches, as topology tells. */
#ifndef SIZES_H
#define SIZES_H

#include "interfere/work.h"

/*
 * Sets each slot's bytes: as ordered, else by @level; LOAD_ANY is as large as the last
 * cache.  What cannot be had, as there is no such cache, or as it is more than half of
 * what memory is available, is refused if it was @asked for, else there is something else
 * instead.  0, and *@words says it, to be freed; -1, said why.
 */
int sizes_set(struct work *work, enum load_level level, bool asked, char **words);

/* As much memory, filled; fails the load without it. */
void *sizes_take(struct work *work);

#define SIZES_LINE 64	/* bytes of a cache line; where they are longer, each is met twice */

#endif
