/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trial of the plugin park: who stands where, and what was seen of it.  The state belongs to
 * the lock, but for what only the isolated vCPU's thread writes before it is looked at.
 */
#ifndef LAB_OBSERVER_PARK_H
#define LAB_OBSERVER_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../guest/park.h"

#define MAX_TRACE	16384
#define MAX_EVENTS	512
#define MAX_ENTRIES	256

/* What the isolated vCPU does, in a trial. */
enum place {
	PLACE_USER,	/* it has not entered yet */
	PLACE_GATE,	/* it waits for the sender to be held */
	PLACE_PATH,	/* on its way */
	PLACE_PARKED,	/* where it was to be parked, or where it waits for the sender */
	PLACE_PAST,	/* back in user mode */
};

enum sender { SENDER_BEFORE, SENDER_BEGUN, SENDER_HELD, SENDER_BACK };

/* How a sender ended while the other was parked. */
enum ending { ENDING_NONE, ENDING_DONE, ENDING_WAITS, ENDING_SPINS, ENDING_STUCK };

struct seen {
	struct park_trial asked;
	enum place place;
	enum sender sender;
	enum ending ending;
	bool parked, loops, held;
	uint64_t parked_pc, held_pc;
	uint32_t parked_index;
	uint64_t begin_ns, blocks, waits;	/* of the sender: blocks begun, its wait's rounds */
	/* The isolated vCPU's path since its first entry; a word for each instruction. */
	uint32_t index, loop, times;
	uint32_t length;
	uint64_t trace[MAX_TRACE];
	/* Since the sender was held; | as the request came back: what happened, a letter each. */
	char events[MAX_EVENTS];
	unsigned int nr_events;
	struct {
		uint64_t pc;
		bool own;
	} entries[MAX_ENTRIES];
	unsigned int nr_entries, entries_dropped;
};

#pragma GCC visibility push(hidden)

extern struct seen seen;
extern atomic_bool armed;

/* A mark of the guest. */
void park_mark(uint32_t what);
/* The isolated vCPU is about to execute watched code at @pc; @proper: it may be instrumented. */
void park_code(uint64_t pc, bool proper);
/* It has begun other code of the kernel. */
void park_proper(void);
/* It has come from user mode to @pc. */
void park_entered(uint64_t pc);
/* It runs in user mode. */
void park_user(void);
/* It does what was deferred: S synchronises text, F flushes translations. */
void park_event(char what);
/* Another vCPU is about to execute the instruction at @pc, where a sender may be held. */
void park_hold(uint64_t pc);
void park_waits(void);
void park_block(void);

void park_write(FILE *f);
bool park_read(void *to, uint64_t from, size_t size);

#pragma GCC visibility pop

#endif
