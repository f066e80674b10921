/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What isolator interfere tells of its loads. */
#ifndef INTERFERE_H
#define INTERFERE_H

#include <stdio.h>

#include "base/cpulist.h"
#include "interfere/load.h"
#include "machine/look.h"

enum interfere_state {
	INTERFERE_RAN,		/* it did something on each of its CPUs */
	INTERFERE_IDLE,		/* on some CPU it did nothing, or no interrupt came of it */
	INTERFERE_FAILED,	/* it ended before its time */
	INTERFERE_ABSENT,	/* it cannot run here */
	INTERFERE_READY,	/* it could */
};

extern const char *const interfere_states[];

struct interfere_run {
	const char *name;		/* as it was given */
	const struct load_type *type;
	struct load *load;		/* NULL: it was not opened */
	struct load_count *cpus;	/* what was done on each between the start of all and the end */
	struct look before;	/* of its targets, if it has any */
	struct since since;
	enum interfere_state state;
	char *why;			/* NULL: nothing is to be said */
};

struct interfere_view {
	struct interfere_run *runs;
	size_t count;
	const struct cpulist *cpus;
	double seconds;			/* from the start of the last load to the end */
	bool early;			/* a signal ended it before its time */
	bool listing;
	bool colours;
};

/* The interrupts that came to the targets, of the classes by which CPUs call each other. */
uint64_t interfere_interrupts(const struct interfere_run *run, const char *class);

/* "ran", "idle", "failed", "skipped" or "listed", and the exit code that says it. */
const char *interfere_verdict(const struct interfere_view *view, int *code);

void interfere_text(FILE *out, const struct interfere_view *view);
void interfere_json(FILE *out, const struct interfere_view *view);

#endif
