/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is shown again and again. */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The terminal at stdout gets what @draw writes, whole: it shall not show half of it. */
void live_show(void (*draw)(FILE *out, const void *view), const void *view);

/*
 * What comes before the next sample is due, on a screen that screen_open() took: @obey
 * gets each key and says whether to go on, and what it changed is drawn at once.  False:
 * it shall end.
 */
bool live_attend(uint64_t next_ns, bool (*obey)(int key, void *view),
		 void (*draw)(FILE *out, const void *view), void *view);

/* When the sample after that of @last_ns is due: no burst of them after a stop. */
uint64_t live_next(uint64_t last_ns, uint64_t interval_ns);

#endif
