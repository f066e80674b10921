// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cause.h"

#define MAX_PLACES	128
#define MAX_BASES	8
/* The trampoline's variants, of which one CPU uses one. */
#define MAX_LEARNT	4

static struct {
	uint64_t address;
	enum cause cause;
} places[MAX_PLACES];
static unsigned int nr_places;
static uint64_t bases[MAX_BASES + MAX_LEARNT];
static unsigned int nr_bases, nr_learnt;
static enum cause adding;

enum cause cause_at(uint64_t pc)
{
	for (unsigned int i = 0; i < nr_places; i++)
		if (places[i].address == pc)
			return places[i].cause;
	return CAUSE_NONE;
}

bool slots_known(void)
{
	return nr_bases > 0;
}

enum slot slot_at(uint64_t pc, bool from_user)
{
	uint64_t at = pc & (VECTORS_SIZE - 1), base = pc - at;
	unsigned int i = 0;

	while (i < nr_bases && bases[i] != base)
		i++;
	if (i == nr_bases) {
		if (!from_user || at < SLOT_FIRST_USER || nr_learnt == MAX_LEARNT)
			return SLOT_NONE;
		bases[nr_bases++] = base;
		nr_learnt++;
	}
	return at >= SLOT_FIRST_USER ? SLOT_USER : SLOT_KERNEL;
}

int each_address(char *list, int (*add)(uint64_t address))
{
	char *save = NULL, *word, *end;
	int bad = 0;

	for (word = strtok_r(list, ":", &save); word && !bad; word = strtok_r(NULL, ":", &save)) {
		uint64_t address = strtoull(word, &end, 0);

		bad = *end ? -1 : add(address);
	}
	return bad;
}

static int add_base(uint64_t address)
{
	if (nr_bases == MAX_BASES || address % VECTORS_SIZE)
		return -1;
	bases[nr_bases++] = address;
	return 0;
}

static int add_place(uint64_t address)
{
	if (nr_places == MAX_PLACES)
		return -1;
	places[nr_places].address = address;
	places[nr_places++].cause = adding;
	return 0;
}

int cause_option(const char *name, char *value)
{
	static const char *const names[] = {
		[CAUSE_EXCEPTION] = "cause", [CAUSE_INTERRUPT] = "interrupt",
		[CAUSE_SOURCE] = "source", [CAUSE_HANDLER] = "handler",
	};

	if (!strcmp(name, "vectors"))
		return each_address(value, add_base);
	for (size_t i = CAUSE_EXCEPTION; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]))
			continue;
		adding = (enum cause)i;
		return each_address(value, add_place);
	}
	return -1;
}
