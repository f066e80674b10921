/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What tests of pools need: CPUs, a pool in use, and a look at all of its inside. */
#ifndef POOLS_H
#define POOLS_H

#include <sched.h>

#include "../src/pool.h"

/* The @n-th CPU that the program may run on, counted around; whether there are two. */
int pools_cpu(unsigned int n);
bool pools_two_cpus(void);
/* Pin the calling thread. */
void pools_pin(int cpu);
/* A pool of the calling thread's CPU, in use; unlocked, in small pages. */
struct isolator_pool *pools_take(uint64_t bytes);
/* Each run, list and count of the pool against each other: NULL, or what is wrong. */
const char *pools_wrong(const struct isolator_pool *pool);
/* The longest free span, in runs, by a walk over all. */
uint32_t pools_longest_span(const struct isolator_pool *pool);
struct isolator_pool_stats pools_stat(struct isolator_pool *pool);

#endif
