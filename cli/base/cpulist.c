// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "base/text.h"

/* A CPU's number at *@text, which moves behind it; -1: there is none. */
static long number(const char **text)
{
	unsigned long n;
	char *end;

	if (!isdigit((unsigned char)**text))
		return -1;
	n = strtoul(*text, &end, 10);
	*text = end;
	return n < CPULIST_MAX ? (long)n : -1;
}

bool cpulist_parse(const char *text, struct cpulist *list)
{
	struct cpulist found = { .given = true };

	for (;;) {
		long first = number(&text), last = first;

		if (*text == '-') {
			text++;
			last = number(&text);
		}
		if (first < 0 || last < first)
			return false;
		for (; first <= last; first++)
			found.bits[first / 64] |= UINT64_C(1) << first % 64;
		if (!*text)
			break;
		if (*text++ != ',')
			return false;
	}
	*list = found;
	return true;
}

bool cpulist_has(const struct cpulist *list, int cpu)
{
	if (!list->given)
		return true;
	return cpu >= 0 && cpu < CPULIST_MAX && list->bits[cpu / 64] >> cpu % 64 & 1;
}

bool cpulist_read(const char *text, struct cpulist *list)
{
	if (*text && strcmp(text, "(null)"))
		return cpulist_parse(text, list);
	*list = (struct cpulist){ .given = true };
	return true;
}

bool cpulist_parse_mask(const char *text, struct cpulist *list)
{
	struct cpulist found = { .given = true };
	size_t length = strlen(text);
	int bit = 0;

	/* The last digit is of CPUs 0 to 3; groups of eight are kept apart by commas. */
	for (size_t i = length; i--;) {
		const char *digits = "0123456789abcdef", *digit;

		if (text[i] == ',' && i && i + 1 < length)
			continue;
		digit = strchr(digits, tolower((unsigned char)text[i]));
		if (!digit || (digit != digits && bit >= CPULIST_MAX))
			return false;
		if (bit < CPULIST_MAX)
			found.bits[bit / 64] |= (uint64_t)(digit - digits) << bit % 64;
		bit += 4;
	}
	if (!length)
		return false;
	*list = found;
	return true;
}

int cpulist_next(const struct cpulist *list, int cpu)
{
	/* A word at a time: most lists are short. */
	for (cpu++; cpu < CPULIST_MAX; cpu = (cpu / 64 + 1) * 64) {
		uint64_t word = list->bits[cpu / 64] >> cpu % 64;

		if (word)
			return cpu + __builtin_ctzll(word);
	}
	return -1;
}

bool cpulist_empty(const struct cpulist *list)
{
	return cpulist_next(list, -1) < 0;
}

size_t cpulist_count(const struct cpulist *list)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(list->bits); i++)
		count += (size_t)__builtin_popcountll(list->bits[i]);
	return count;
}

bool cpulist_common(const struct cpulist *a, const struct cpulist *b)
{
	for (size_t i = 0; i < CPULIST_MAX / 64; i++)
		if (a->bits[i] & b->bits[i])
			return true;
	return false;
}

bool cpulist_same(const struct cpulist *a, const struct cpulist *b)
{
	return !memcmp(a->bits, b->bits, sizeof(a->bits));
}

void cpulist_minus(struct cpulist *list, const struct cpulist *without)
{
	for (size_t i = 0; i < CPULIST_MAX / 64; i++)
		list->bits[i] &= ~without->bits[i];
}

void cpulist_add(struct cpulist *list, int cpu)
{
	list->given = true;
	list->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

void cpulist_union(struct cpulist *list, const struct cpulist *more)
{
	for (int cpu = -1; (cpu = cpulist_next(more, cpu)) >= 0;)
		cpulist_add(list, cpu);
}

bool cpulist_within(const struct cpulist *list, const struct cpulist *other)
{
	struct cpulist left = *list;

	cpulist_minus(&left, other);
	return cpulist_empty(&left);
}

char *cpulist_text(const struct cpulist *list)
{
	const char *comma = "";
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	for (int cpu = -1; (cpu = cpulist_next(list, cpu)) >= 0;) {
		int first = cpu;

		while (cpulist_next(list, cpu) == cpu + 1)
			cpu++;
		fprintf(out, "%s%d", comma, first);
		if (cpu > first)
			fprintf(out, "-%d", cpu);
		comma = ",";
	}
	fclose(out);
	return text;
}

char *cpulist_mask(const struct cpulist *list)
{
	bool begun = false;
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	for (int group = CPULIST_MAX / 32 - 1; group >= 0; group--) {
		uint32_t bits = (uint32_t)(list->bits[group / 2] >> group % 2 * 32);

		if (!begun && !bits && group)
			continue;
		fprintf(out, begun ? ",%08" PRIx32 : "%" PRIx32, bits);
		begun = true;
	}
	fclose(out);
	return text;
}
