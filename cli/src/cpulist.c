// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdlib.h>

#include "cpulist.h"

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
