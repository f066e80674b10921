// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames of the scope protocol, whose checksums are made right; a message or a record that is
 * read is written again, and is then the same.
 */
#include "frame.h"
#include "message.h"
#include "record.h"
#include "harness.h"

static void records(const struct message *message)
{
	size_t at = 0;

	while (at < message->tail_size) {
		struct record record = { 0 };
		uint8_t buffer[RECORD_MAX];
		size_t size = record_read(message->tail + at, message->tail_size - at, &record);

		if (!size)
			return;
		if (record_write(buffer, &record) != size ||
		    memcmp(buffer, message->tail + at, size))
			abort();
		at += size;
	}
}

static void look(const struct frame *frame, const uint8_t *data, size_t length)
{
	static uint8_t buffer[FRAME_HEAD + FRAME_PAYLOAD_MAX];
	struct message message;

	if (message_read(frame, &message) != MESSAGE_GOOD)
		return;
	if (message_write(buffer, sizeof(buffer), frame->sequence, &message) != length ||
	    memcmp(buffer, data, length))
		abort();
	if (message.type == MESSAGE_PACKET)
		records(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = (uint8_t *)harness_text(data, size);
	size_t at = 0;

	while (at < size) {
		struct frame frame;
		size_t length;

		/* A head that is whole, and as long as it says: then only the sum is missing. */
		if (size - at >= FRAME_HEAD) {
			uint32_t said = (uint32_t)frame_get(copy + at + 8, 4);

			if (said <= size - at - FRAME_HEAD && said <= FRAME_PAYLOAD_MAX)
				frame_seal(copy + at, copy[at + 5],
					   (uint32_t)frame_get(copy + at + 12, 4), said);
		}
		switch (frame_look(copy + at, size - at, &frame, &length)) {
		case FRAME_GOOD:
			look(&frame, copy + at, length);
			break;
		case FRAME_BAD:
			if (!length || length > size - at)
				abort();
			break;
		case FRAME_MORE:
			length = size - at;
			break;
		}
		at += length;
	}
	free(copy);
	return 0;
}
