// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>

#include "frame.h"
#include "record.h"

enum { AFTERTHOUGHT_SIZE = 18, STRAY_SIZE = 14, GAP_SIZE = 17 };

/* Each line once, and only lines of the mask. */
static bool answers_fit(const struct record *record)
{
	uint64_t left = record->mask;

	for (unsigned int i = 0; i < record->nr_answers; i++) {
		unsigned int line = record->answers[i].line;

		if (line >= RECORD_LINES || !(left >> line & 1))
			return false;
		left &= ~(UINT64_C(1) << line);
	}
	return true;
}

static size_t write_trigger(uint8_t *at, const struct record *record)
{
	if (record->nr_answers > RECORD_LINES || !answers_fit(record))
		return 0;
	frame_put(at + 1, record->trigger, 8);
	frame_put(at + 9, record->at_ns, 8);
	frame_put(at + 17, record->jitter_ns, 4);
	frame_put(at + 21, record->mask, 8);
	at[29] = record->nr_answers;
	at += RECORD_HEAD;
	for (unsigned int i = 0; i < record->nr_answers; i++, at += RECORD_ANSWER) {
		at[0] = record->answers[i].line;
		at[1] = record->answers[i].flags;
		frame_put(at + 2, record->answers[i].ns, 8);
	}
	return RECORD_HEAD + (size_t)record->nr_answers * RECORD_ANSWER;
}

size_t record_write(uint8_t *buffer, const struct record *record)
{
	buffer[0] = record->kind;
	switch (record->kind) {
	case RECORD_TRIGGER:
		return write_trigger(buffer, record);
	case RECORD_AFTERTHOUGHT:
		if (record->line >= RECORD_LINES)
			return 0;
		frame_put(buffer + 1, record->trigger, 8);
		buffer[9] = record->line;
		frame_put(buffer + 10, record->at_ns, 8);
		return AFTERTHOUGHT_SIZE;
	case RECORD_STRAY:
		if (record->line >= RECORD_LINES)
			return 0;
		buffer[1] = record->line;
		frame_put(buffer + 2, record->sequence, 4);
		frame_put(buffer + 6, record->at_ns, 8);
		return STRAY_SIZE;
	case RECORD_GAP:
		if (record->last < record->trigger)
			return 0;
		frame_put(buffer + 1, record->trigger, 8);
		frame_put(buffer + 9, record->last, 8);
		return GAP_SIZE;
	default:
		return 0;
	}
}

static size_t read_trigger(const uint8_t *at, size_t size, struct record *record)
{
	size_t whole;

	if (size < RECORD_HEAD || at[29] > RECORD_LINES)
		return 0;
	whole = RECORD_HEAD + (size_t)at[29] * RECORD_ANSWER;
	if (size < whole)
		return 0;
	record->trigger = frame_get(at + 1, 8);
	record->at_ns = frame_get(at + 9, 8);
	record->jitter_ns = (uint32_t)frame_get(at + 17, 4);
	record->mask = frame_get(at + 21, 8);
	record->nr_answers = at[29];
	at += RECORD_HEAD;
	for (unsigned int i = 0; i < record->nr_answers; i++, at += RECORD_ANSWER)
		record->answers[i] = (struct answer){
			.line = at[0], .flags = at[1], .ns = frame_get(at + 2, 8),
		};
	return answers_fit(record) ? whole : 0;
}

size_t record_read(const uint8_t *data, size_t size, struct record *record)
{
	if (!size)
		return 0;
	record->kind = data[0];
	switch (record->kind) {
	case RECORD_TRIGGER:
		return read_trigger(data, size, record);
	case RECORD_AFTERTHOUGHT:
		if (size < AFTERTHOUGHT_SIZE || data[9] >= RECORD_LINES)
			return 0;
		record->trigger = frame_get(data + 1, 8);
		record->line = data[9];
		record->at_ns = frame_get(data + 10, 8);
		return AFTERTHOUGHT_SIZE;
	case RECORD_STRAY:
		if (size < STRAY_SIZE || data[1] >= RECORD_LINES)
			return 0;
		record->line = data[1];
		record->sequence = (uint32_t)frame_get(data + 2, 4);
		record->at_ns = frame_get(data + 6, 8);
		return STRAY_SIZE;
	case RECORD_GAP:
		if (size < GAP_SIZE)
			return 0;
		record->trigger = frame_get(data + 1, 8);
		record->last = frame_get(data + 9, 8);
		return record->last < record->trigger ? 0 : GAP_SIZE;
	default:
		return 0;
	}
}
