/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What programs do with an allocator, each in a loop that is timed. */
#ifndef PATTERNS_H
#define PATTERNS_H

#include <stddef.h>
#include <stdint.h>

/* The most blocks that a pattern holds at a time. */
#define HELD_MAX	1024

struct allocator {
	const char *name;
	void *(*alloc)(size_t bytes);
	void (*free)(void *block);
};

/* Time of each call, in ticks; NULL: only the loop as a whole is of interest. */
struct samples {
	uint32_t *alloc;
	uint32_t *free;
};

/*
 * @operations allocations and as many frees of @bytes, 0 for random sizes.
 * Returns 0, or -1 when an allocation failed.
 */
struct pattern {
	const char *name;
	const char *help;
	int (*run)(const struct allocator *allocator, size_t bytes, size_t operations,
		   const struct samples *samples);
};

extern const struct pattern patterns[];
extern const size_t pattern_count;

/* A counter that is cheaper to read than the clock, where the machine has one. */
static inline uint64_t ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(value) : : "memory");
	return value;
#else
#error "bench-alloc: a counter for this machine is missing"
#endif
}

#endif
