/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets: made of records, numbered, kept until the host has them on its disk, and no more
 * of them than there is memory for.
 */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame.h"

#define STORE_PACKETS 65536u
#define STORE_GAPS 32

struct packet {
	uint8_t *records;
	uint32_t size;
	uint16_t count;
	bool sent;
};

struct gap {
	uint64_t first, last;
};

struct store {
	uint64_t first;		/* packet that is still to be had */
	uint64_t next;		/* number of the next that is made */
	uint64_t limit;		/* bytes of records kept, at most */
	uint64_t bytes;
	uint64_t unsent;	/* records of packets that were forgotten before they were sent */
	struct gap gaps[STORE_GAPS];	/* triggers among them that were not told */
	unsigned int nr_gaps;
	uint16_t count;		/* of the packet that is being made */
	uint32_t size;
	uint64_t since_ns;	/* when its first record came */
	struct packet packets[STORE_PACKETS];	/* by number % STORE_PACKETS */
	uint8_t making[FRAME_PAYLOAD_MAX];
};

/* @limit: bytes. */
void store_begin(struct store *store, uint64_t limit);
void store_end(struct store *store);

/*
 * One more record of @size bytes, which came at @now; packets have @records of them.  When
 * too much is kept the oldest packets are forgotten.
 */
void store_add(struct store *store, const uint8_t *record, size_t size, uint16_t records,
	       uint64_t now);

/* Adds records of the triggers that were forgotten: while there is somebody to be told. */
void store_tell_gaps(struct store *store, uint16_t records, uint64_t now);

/* The packet that is being made is complete, if there is one. */
void store_complete(struct store *store);

/* Is the packet that is being made older than that? */
bool store_is_old(const struct store *store, uint64_t now, uint64_t age_ns);

/* All packets below @number may be forgotten; it is at most store->next. */
void store_kept(struct store *store, uint64_t number);

/*
 * The frame of packet @number, which the store has, into @buffer.  Returns its size, or 0 if
 * @size is too little; then it does not count as sent.  @unsent is what was lost elsewhere.
 */
size_t store_frame(struct store *store, uint64_t number, uint64_t unsent, uint8_t *buffer,
		   size_t size, uint32_t sequence);

#endif
