/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random messages that are right. */
#ifndef MADE_H
#define MADE_H

#include <stdint.h>
#include <string.h>

#include "message.h"
#include "record.h"

/* Steele's SplitMix64. */
static inline uint64_t made_draw(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Small and large ones are as likely. */
static inline uint64_t made_number(uint64_t *state)
{
	return made_draw(state) >> made_draw(state) % 64;
}

static inline void made_record(uint64_t *state, struct record *record)
{
	memset(record, 0, sizeof(*record));
	record->kind = (uint8_t)(1 + made_draw(state) % 4);
	record->line = made_draw(state) % RECORD_LINES;
	record->jitter_ns = (uint32_t)made_number(state);
	record->sequence = (uint32_t)made_number(state);
	record->trigger = made_number(state);
	record->last = record->trigger | made_number(state);
	record->at_ns = made_number(state);
	record->mask = made_number(state);
	for (uint8_t line = 0; line < RECORD_LINES; line++)
		if (record->mask >> line & 1 && made_draw(state) % 4)
			record->answers[record->nr_answers++] = (struct answer){
				.ns = made_number(state), .line = line,
				.flags = made_draw(state) % 4,
			};
}

/* Numbers that fit into the fields of @type; @tail has room for FRAME_PAYLOAD_MAX bytes. */
static inline void made_message(uint64_t *state, struct message *message, uint8_t *tail)
{
	static const struct { uint8_t type, bits[MESSAGE_NUMBERS]; } kinds[] = {
		{ MESSAGE_HELLO, { 16, 16, 64, 64 } }, { MESSAGE_SET_FREQUENCY, { 64 } },
		{ MESSAGE_SET_DUTY, { 32 } }, { MESSAGE_SET_PACKET, { 16 } },
		{ MESSAGE_SET_PHASE, { 8, 64 } }, { MESSAGE_SET_LINES, { 64 } },
		{ MESSAGE_SET_BURST, { 16, 64 } }, { MESSAGE_SET_PATIENCE, { 64 } },
		{ MESSAGE_START, { 64 } }, { MESSAGE_STOP, { 0 } },
		{ MESSAGE_CALIBRATE, { 32 } }, { MESSAGE_KEPT, { 64 } },
		{ MESSAGE_PING, { 0 } }, { MESSAGE_ACK, { 32, 8, 8 } },
		{ MESSAGE_WELCOME, { 16, 64, 64, 64, 64, 64 } }, { MESSAGE_PACKET, { 64, 64 } },
		{ MESSAGE_FLOOR, { 32, 64, 64, 64, 64, 64, 64, 64 } },
		{ MESSAGE_STATE, { 64, 64, 32, 16, 8, 64, 64, 16, 64, 64, 8, 64, 64, 64 } },
	};
	unsigned int kind = made_draw(state) % (sizeof(kinds) / sizeof(kinds[0]));
	struct record record;

	memset(message, 0, sizeof(*message));
	message->type = kinds[kind].type;
	for (unsigned int i = 0; i < MESSAGE_NUMBERS && kinds[kind].bits[i]; i++) {
		message->number[i] = made_number(state);
		if (kinds[kind].bits[i] < 64)
			message->number[i] &= (UINT64_C(1) << kinds[kind].bits[i]) - 1;
	}
	message->tail = tail;
	message->items = made_draw(state) % 40;
	switch (message->type) {
	case MESSAGE_HELLO:
	case MESSAGE_ACK:
		message->tail_size = message->items;
		break;
	case MESSAGE_WELCOME:
		message->tail_size = message->items * MESSAGE_NAME;
		break;
	case MESSAGE_STATE:
		message->tail_size = message->items * MESSAGE_LINE;
		break;
	case MESSAGE_PACKET:
		for (uint32_t i = 0; i < message->items; i++) {
			made_record(state, &record);
			message->tail_size += (uint32_t)record_write(tail + message->tail_size,
								     &record);
		}
		return;
	default:
		message->items = 0;
	}
	/* Letters: texts and names are read as such. */
	for (uint32_t i = 0; i < message->tail_size; i++)
		tail[i] = (uint8_t)('a' + made_draw(state) % 26);
}

#endif
