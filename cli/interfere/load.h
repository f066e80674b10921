/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads: what disturbs a CPU on purpose, and counts what it did.  What stress-ng has it does;
 * of this command's own are only those that it has not, of which one says to whom it sends
 * interrupts, or in which cache it is.
 *
 * A load that is open is a process of its own, the keeper (keeper.h), which waits; what
 * runs for it are the keeper's children.  load_open() forks: call it before threads
 * that are measured have locked their memory, as a fork makes them fault.  The later
 * calls do not.  They are all for the thread that opened the load: if that ends, so
 * does the load.  Whatever ends this process, also SIGKILL: the keeper ends what runs,
 * and removes its files.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpulist.h"

struct load_order {
	struct cpulist cpus;		/* where it runs: within the calling thread's affinity */
	struct cpulist targets;		/* of ipi, whom it interrupts; not given: the cpus */
};

struct load_type {
	const char *name;
	const char *variants;	/* that may stand behind its name and ":"; NULL: none */
	const char *about;	/* a few words */
	const char *operation;	/* what is counted, in plural */
};

extern const struct load_type *const load_types[];	/* NULL ends them */

/* The type of the load @name, a variant with it; NULL, said why: there is none. */
const struct load_type *load_find(const char *name);

/* Why the load @name, which load_find() knows, cannot run here, to be freed; NULL: it can. */
char *load_missing(const char *name);

struct load;

/* Of one that can run here: it waits for its start; NULL, said why, and nothing is left. */
struct load *load_open(const char *name, const struct load_order *order);

/*
 * Returns when it runs on each of its CPUs: 0; or -1, said why.  May take seconds: memory
 * is filled, files are made.
 */
int load_start(struct load *load);

/* False: it has ended by itself, or was killed; why says load_failure(). */
bool load_running(struct load *load);

/* One line, or NULL: nothing went wrong. */
const char *load_failure(const struct load *load);

/* Ends it and frees it; nothing of it is left.  NULL is nothing to end. */
void load_close(struct load *load);

/* Ends it; what it did can still be asked. */
void load_stop(struct load *load);

/* What it does, a line without its end: "interrupts CPU 3 by membarrier". */
const char *load_words(const struct load *load);

/* What it has done so far, by CPU; each CPU's counts only grow. */
struct load_count {
	int cpu;
	uint64_t bytes;			/* of its memory; 0: it has none of a given size */
	uint64_t operations;
};

size_t load_cpus(const struct load *load);
struct load_count load_count(const struct load *load, size_t index);

/* CPUs to which it sends interrupts; empty: it sends none by itself. */
const struct cpulist *load_targets(const struct load *load);

#endif
