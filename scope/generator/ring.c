// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "frame.h"
#include "ring.h"

#define LENGTH 2	/* bytes in front of each record */

static void copy_in(struct ring *ring, uint64_t at, const uint8_t *data, size_t size)
{
	size_t to = at % RING_SIZE, first = size < RING_SIZE - to ? size : RING_SIZE - to;

	memcpy(ring->bytes + to, data, first);
	memcpy(ring->bytes, data + first, size - first);
}

static void copy_out(const struct ring *ring, uint64_t at, uint8_t *data, size_t size)
{
	size_t from = at % RING_SIZE, first = size < RING_SIZE - from ? size : RING_SIZE - from;

	memcpy(data, ring->bytes + from, first);
	memcpy(data + first, ring->bytes, size - first);
}

static bool put(struct ring *ring, const struct record *record)
{
	uint8_t coded[LENGTH + RECORD_MAX];
	size_t size = record_write(coded + LENGTH, record);
	/* Pairs with the release in ring_take(): what was there has been read. */
	uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

	if (ring->head - tail + LENGTH + size > RING_SIZE)
		return false;
	frame_put(coded, size, LENGTH);
	copy_in(ring, ring->head, coded, LENGTH + size);
	/* Pairs with the acquire in ring_take(). */
	__atomic_store_n(&ring->head, ring->head + LENGTH + size, __ATOMIC_RELEASE);
	return true;
}

void ring_flush(struct ring *ring)
{
	struct record gap;

	if (!ring->gap_first)
		return;
	gap.kind = RECORD_GAP;
	gap.trigger = ring->gap_first;
	gap.last = ring->gap_last;
	if (put(ring, &gap))
		ring->gap_first = 0;
}

void ring_put(struct ring *ring, const struct record *record)
{
	ring_flush(ring);
	if (!ring->gap_first && put(ring, record))
		return;
	__atomic_store_n(&ring->unsent, ring->unsent + 1, __ATOMIC_RELAXED);
	if (record->kind != RECORD_TRIGGER)
		return;
	if (!ring->gap_first)
		ring->gap_first = record->trigger;
	ring->gap_last = record->trigger;
}

size_t ring_take(struct ring *ring, uint8_t *buffer)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	uint8_t length[LENGTH];
	size_t size;

	if (head == ring->tail)
		return 0;
	copy_out(ring, ring->tail, length, LENGTH);
	size = frame_get(length, LENGTH);
	copy_out(ring, ring->tail + LENGTH, buffer, size);
	__atomic_store_n(&ring->tail, ring->tail + LENGTH + size, __ATOMIC_RELEASE);
	return size;
}

uint64_t ring_unsent(const struct ring *ring)
{
	return __atomic_load_n(&ring->unsent, __ATOMIC_RELAXED);
}
