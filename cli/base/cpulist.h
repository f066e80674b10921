/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of CPUs as the kernel writes them: 1,3-5 */
#ifndef CPULIST_H
#define CPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPULIST_MAX 8192	/* no kernel is built for more */

struct cpulist {
	bool given;	/* false: it was never filled, and stands for all CPUs */
	uint64_t bits[CPULIST_MAX / 64];
};

/* False: @text is no list, and @list is unchanged. */
bool cpulist_parse(const char *text, struct cpulist *list);

/* Is @cpu in @list, or is the list not given? */
bool cpulist_has(const struct cpulist *list, int cpu);

/* The same of what the kernel shows, where an empty list is one too. */
bool cpulist_read(const char *text, struct cpulist *list);

/* From a mask in hexadecimal: f, or 1,00000000; false as above. */
bool cpulist_parse_mask(const char *text, struct cpulist *list);

/* The first CPU of @list after @cpu; -1: there is none. */
int cpulist_next(const struct cpulist *list, int cpu);

bool cpulist_empty(const struct cpulist *list);

/* How many CPUs are in @list? */
size_t cpulist_count(const struct cpulist *list);

/* Have @a and @b a CPU in common? */
bool cpulist_common(const struct cpulist *a, const struct cpulist *b);

/* Have @a and @b the same CPUs? */
bool cpulist_same(const struct cpulist *a, const struct cpulist *b);

/* Is all of @list in @other? */
bool cpulist_within(const struct cpulist *list, const struct cpulist *other);

void cpulist_minus(struct cpulist *list, const struct cpulist *without);

void cpulist_add(struct cpulist *list, int cpu);

/* Adds all CPUs of @more; where there are none, @list is unchanged. */
void cpulist_union(struct cpulist *list, const struct cpulist *more);

/* As the kernel writes them, "" for none; to be freed. */
char *cpulist_text(const struct cpulist *list);
char *cpulist_mask(const struct cpulist *list);

#endif
