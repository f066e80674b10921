/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A clock that user mode reads without the kernel. */
#ifndef CYCLES_H
#define CYCLES_H

#include <stdint.h>

#if defined(__x86_64__)
#include <x86intrin.h>

#define CYCLES_NAME "TSC"

static inline uint64_t cycles(void)
{
	return __rdtsc();
}
#elif defined(__aarch64__)

#define CYCLES_NAME "CNTVCT"

static inline uint64_t cycles(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r" (now));
	return now;
}
#else
#error "no clock is known here that user mode reads by itself: add one to cycles.h"
#endif

/* @now and @now_ns, of CLOCK_MONOTONIC, are one moment, as far as two clocks can be read at once. */
void cycles_pair(uint64_t *now, uint64_t *now_ns);

#endif
