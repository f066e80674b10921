/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs that a thread of the running machine may run on. */
#ifndef AFFINITY_H
#define AFFINITY_H

#include <sys/types.h>

#include "base/cpulist.h"

/* Those of the calling thread; 0 or the errno. */
int affinity_get(struct cpulist *cpus);

/* The same; 0, or -1, said why. */
int affinity_read(struct cpulist *cpus);

/* @tid, 0 for the calling thread, runs on no others from now on; 0 or the errno. */
int affinity_set(pid_t tid, const struct cpulist *cpus);

/* The calling thread runs on @cpu alone from now on; 0 or the errno. */
int affinity_pin(int cpu);

/* May the calling thread use all CPUs of --@option?  0, or -1, said which it may not. */
int affinity_check(const char *option, const struct cpulist *cpus);

#endif
