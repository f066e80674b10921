/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records on their way from the thread that captures to the one that sends: one writer, one
 * reader, neither waits.  What does not fit is counted, and triggers among it are told by a
 * record of their own as soon as there is room.
 */
#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

#define RING_SIZE (UINT64_C(4) << 20)

struct ring {
	/* Written by the writer. */
	uint64_t head;			/* bytes put so far */
	uint64_t unsent;		/* records that did not fit */
	uint64_t gap_first, gap_last;	/* triggers among them that were not told; 0: none */
	/* Written by the reader. */
	_Alignas(64) uint64_t tail;
	_Alignas(64) uint8_t bytes[RING_SIZE];
};

/* For the writer. */
void ring_put(struct ring *ring, const struct record *record);

/* For the writer when there is nothing to put: tells of a gap. */
void ring_flush(struct ring *ring);

/*
 * For the reader: the oldest record, as a packet has it, into @buffer of RECORD_MAX bytes.
 * Returns its size; 0: there is none.
 */
size_t ring_take(struct ring *ring, uint8_t *buffer);

/* For the reader. */
uint64_t ring_unsent(const struct ring *ring);

#endif
