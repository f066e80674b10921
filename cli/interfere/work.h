/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the file of a load offers, and what its processes have. */
#ifndef WORK_H
#define WORK_H

#include <sys/types.h>

#include "interfere/load.h"

#define WORK_TEXT 256

/* One for each CPU, on cache lines of its own: only the process there writes to it. */
struct work_slot {
	int cpu;
	uint64_t bytes;
	uint64_t operations;
} __attribute__((aligned(128)));

/* In memory that all processes of the load share. */
struct work_shared {
	unsigned int ready;	/* processes that do what they are for */
	bool failed;		/* failure is taken */
	bool said;		/* failure is written */
	char failure[WORK_TEXT];
	size_t count;
	struct work_slot slots[];
};

struct work {
	const struct work_type *type;
	char *variant;		/* "" for none */
	struct load_order order;
	char *words;
	struct cpulist targets;	/* empty: it sends no interrupts */
	struct work_shared *shared;
	struct work_slot *slot;	/* of this process; of the first CPU if it is for all */
	char *scratch;		/* a directory for files, which goes away; NULL: none */
};

struct work_type {
	struct load_type type;
	bool whole;		/* one process for all CPUs */
	bool files;		/* it wants a directory */
	bool judges;		/* missing() says which variants there are */
	/* Why it cannot run here, to be freed; NULL: it can. */
	char *(*missing)(const char *variant);
	/* Checks the order and fills words, targets and each slot's bytes: 0; -1, said why. */
	int (*settle)(struct work *work);
	/* In a process on its CPU: until it is killed. */
	void (*run)(struct work *work) __attribute__((noreturn));
};

extern const struct work_type work_cache, work_ipi, work_stress;

/* The calling process cannot go on, and with it the whole load. */
void work_fail(struct work *work, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/* All is there: what follows is the load itself. */
void work_ready(struct work *work);

/* So much more was done, on the CPU of @slot. */
static inline void work_did(struct work_slot *slot, uint64_t operations)
{
	/* One writer: no read-modify-write that others would see half done. */
	__atomic_store_n(&slot->operations, slot->operations + operations, __ATOMIC_RELAXED);
}

/* The calling thread, to @cpu alone; fails the load if it cannot. */
void work_pin(struct work *work, int cpu);

#endif
