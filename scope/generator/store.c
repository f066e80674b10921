// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "record.h"
#include "store.h"

#define HEAD 18		/* of a PACKET's payload, before the records */

void store_begin(struct store *store, uint64_t limit)
{
	memset(store, 0, sizeof(*store));
	store->limit = limit;
}

static struct packet *packet_of(struct store *store, uint64_t number)
{
	return &store->packets[number % STORE_PACKETS];
}

/* Triggers @first to @last, behind all that are noted. */
static void note_gap(struct store *store, uint64_t first, uint64_t last)
{
	struct gap *newest = store->nr_gaps ? &store->gaps[store->nr_gaps - 1] : NULL;

	/* Without a place for it the gap is told too large rather than not at all. */
	if (newest && (newest->last + 1 == first || store->nr_gaps == STORE_GAPS)) {
		newest->last = last > newest->last ? last : newest->last;
		return;
	}
	store->gaps[store->nr_gaps++] = (struct gap){ first, last };
}

/* What is forgotten without having been sent is told by the records to come. */
static void note_unsent(struct store *store, const uint8_t *records, uint32_t size,
			uint16_t count)
{
	struct record record;

	store->unsent += count;
	while (size) {
		size_t length = record_read(records, size, &record);

		if (!length)
			return;
		if (record.kind == RECORD_TRIGGER)
			note_gap(store, record.trigger, record.trigger);
		if (record.kind == RECORD_GAP)
			note_gap(store, record.trigger, record.last);
		records += length;
		size -= (uint32_t)length;
	}
}

/* Precondition: there is one. */
static void forget_first(struct store *store)
{
	struct packet *packet = packet_of(store, store->first++);

	if (!packet->sent)
		note_unsent(store, packet->records, packet->size, packet->count);
	store->bytes -= packet->size;
	free(packet->records);
	*packet = (struct packet){ 0 };
}

void store_end(struct store *store)
{
	while (store->first < store->next)
		forget_first(store);
}

void store_complete(struct store *store)
{
	uint8_t *records;

	if (!store->count)
		return;
	while (store->first < store->next &&
	       (store->bytes + store->size > store->limit ||
		store->next - store->first == STORE_PACKETS))
		forget_first(store);
	records = malloc(store->size);
	if (records) {
		memcpy(records, store->making, store->size);
		*packet_of(store, store->next++) = (struct packet){
			.records = records, .size = store->size, .count = store->count,
		};
		store->bytes += store->size;
	} else {
		note_unsent(store, store->making, store->size, store->count);
	}
	store->count = 0;
	store->size = 0;
}

void store_add(struct store *store, const uint8_t *record, size_t size, uint16_t records,
	       uint64_t now)
{
	if (store->size + size > FRAME_PAYLOAD_MAX - HEAD)
		store_complete(store);
	if (!store->count)
		store->since_ns = now;
	memcpy(store->making + store->size, record, size);
	store->size += (uint32_t)size;
	if (++store->count >= records)
		store_complete(store);
}

void store_tell_gaps(struct store *store, uint16_t records, uint64_t now)
{
	/* Telling may make others be forgotten: those are for the next time. */
	for (unsigned int left = store->nr_gaps; left; left--) {
		struct record gap = { .kind = RECORD_GAP };
		uint8_t coded[RECORD_MAX];

		gap.trigger = store->gaps[0].first;
		gap.last = store->gaps[0].last;
		store->nr_gaps--;
		memmove(store->gaps, store->gaps + 1, store->nr_gaps * sizeof(store->gaps[0]));
		store_add(store, coded, record_write(coded, &gap), records, now);
	}
}

bool store_is_old(const struct store *store, uint64_t now, uint64_t age_ns)
{
	return store->count && now - store->since_ns >= age_ns;
}

void store_kept(struct store *store, uint64_t number)
{
	while (store->first < number) {
		/* Who says that it is on a disk has it, whoever sent it. */
		packet_of(store, store->first)->sent = true;
		forget_first(store);
	}
}

size_t store_frame(struct store *store, uint64_t number, uint64_t unsent, uint8_t *buffer,
		   size_t size, uint32_t sequence)
{
	struct packet *packet = packet_of(store, number);
	struct message message = {
		.type = MESSAGE_PACKET,
		.number = { [PACKET_NUMBER] = number, [PACKET_UNSENT] = unsent + store->unsent },
		.items = packet->count,
		.tail = packet->records,
		.tail_size = packet->size,
	};
	size_t made = message_write(buffer, size, sequence, &message);

	packet->sent |= made > 0;
	return made;
}
