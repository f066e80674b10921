/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is shown again and again. */
#ifndef LIVE_H
#define LIVE_H

#include <stdint.h>
#include <stdio.h>

/* The terminal at stdout gets what @draw writes, whole: it shall not show half of it. */
void live_show(void (*draw)(FILE *out, const void *view), const void *view);

/* When the sample after that of @last_ns is due: no burst of them after a stop. */
uint64_t live_next(uint64_t last_ns, uint64_t interval_ns);

#endif
