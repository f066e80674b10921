// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <string.h>

#include "message.h"
#include "record.h"

/* What follows the numbers. */
enum tail { TAIL_NONE, TAIL_BYTES, TAIL_NAMES, TAIL_LINES, TAIL_RECORDS };

/*
 * @widths has the bytes of each field; a letter is the field that counts the tail's items,
 * of as many bytes: 'b' 1, 'h' 2.
 */
static const struct layout {
	uint8_t type;
	uint8_t tail;
	const char *widths;
} layouts[] = {
	{ MESSAGE_HELLO, TAIL_BYTES, "2288b" },
	{ MESSAGE_SET_FREQUENCY, TAIL_NONE, "8" },
	{ MESSAGE_SET_DUTY, TAIL_NONE, "4" },
	{ MESSAGE_SET_PACKET, TAIL_NONE, "2" },
	{ MESSAGE_SET_PHASE, TAIL_NONE, "18" },
	{ MESSAGE_SET_LINES, TAIL_NONE, "8" },
	{ MESSAGE_SET_BURST, TAIL_NONE, "28" },
	{ MESSAGE_SET_PATIENCE, TAIL_NONE, "8" },
	{ MESSAGE_START, TAIL_NONE, "8" },
	{ MESSAGE_STOP, TAIL_NONE, "" },
	{ MESSAGE_CALIBRATE, TAIL_NONE, "4" },
	{ MESSAGE_KEPT, TAIL_NONE, "8" },
	{ MESSAGE_PING, TAIL_NONE, "" },
	{ MESSAGE_ACK, TAIL_BYTES, "411h" },
	{ MESSAGE_WELCOME, TAIL_NAMES, "2h88888" },
	{ MESSAGE_PACKET, TAIL_RECORDS, "88h" },
	{ MESSAGE_FLOOR, TAIL_NONE, "48888888" },
	{ MESSAGE_STATE, TAIL_LINES, "88421882881888h" },
};

static const struct layout *layout_of(uint8_t type)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].type == type)
			return &layouts[i];
	return NULL;
}

static unsigned int width_of(char field)
{
	if (field == 'b')
		return 1;
	return field == 'h' ? 2 : (unsigned int)(field - '0');
}

static bool is_count(char field)
{
	return field == 'b' || field == 'h';
}

/* Are the bytes of @message's tail as many items as it says? */
static bool tail_fits(const struct layout *layout, const struct message *message)
{
	struct record record;
	uint32_t at = 0;

	switch (layout->tail) {
	case TAIL_BYTES:
		return message->tail_size == message->items &&
		       (message->type != MESSAGE_ACK || message->items <= MESSAGE_TEXT_MAX);
	case TAIL_NAMES:
		return message->tail_size == message->items * MESSAGE_NAME;
	case TAIL_LINES:
		return message->tail_size == message->items * MESSAGE_LINE;
	case TAIL_RECORDS:
		for (uint32_t i = 0; i < message->items; i++) {
			size_t size = record_read(message->tail + at, message->tail_size - at,
						  &record);

			if (!size)
				return false;
			at += (uint32_t)size;
		}
		return at == message->tail_size;
	default:
		return !message->tail_size;
	}
}

enum message_found message_read(const struct frame *frame, struct message *message)
{
	const struct layout *layout = layout_of(frame->type);
	unsigned int number = 0;
	uint32_t at = 0;

	if (!layout)
		return MESSAGE_UNKNOWN;
	memset(message, 0, sizeof(*message));
	message->type = frame->type;
	for (const char *field = layout->widths; *field; field++) {
		unsigned int width = width_of(*field);

		if (frame->length - at < width)
			return MESSAGE_BAD;
		if (is_count(*field))
			message->items = (uint32_t)frame_get(frame->payload + at, width);
		else
			message->number[number++] = frame_get(frame->payload + at, width);
		at += width;
	}
	message->tail = frame->payload + at;
	message->tail_size = frame->length - at;
	return tail_fits(layout, message) ? MESSAGE_GOOD : MESSAGE_BAD;
}

size_t message_write(uint8_t *buffer, size_t size, uint32_t sequence,
		     const struct message *message)
{
	const struct layout *layout = layout_of(message->type);
	unsigned int number = 0;
	size_t at = FRAME_HEAD;

	if (!layout || !tail_fits(layout, message))
		return 0;
	for (const char *field = layout->widths; *field; field++) {
		unsigned int width = width_of(*field);
		uint64_t value = is_count(*field) ? message->items : message->number[number++];

		if (width < 8 && value >> 8 * width)
			return 0;
		if (at > size || size - at < width)
			return 0;
		frame_put(buffer + at, value, width);
		at += width;
	}
	if (at > size || size - at < message->tail_size ||
	    at - FRAME_HEAD + message->tail_size > FRAME_PAYLOAD_MAX)
		return 0;
	if (message->tail_size)
		memmove(buffer + at, message->tail, message->tail_size);
	at += message->tail_size;
	return frame_seal(buffer, message->type, sequence, (uint32_t)(at - FRAME_HEAD));
}
