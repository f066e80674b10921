// SPDX-License-Identifier: GPL-2.0-or-later
#include "frame.h"

#define CHECKED 16	/* bytes of the head that the checksum covers */

enum { AT_VERSION = 4, AT_TYPE = 5, AT_FLAGS = 6, AT_LENGTH = 8, AT_SEQUENCE = 12, AT_CRC = 16 };

void frame_put(uint8_t *at, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

uint64_t frame_get(const uint8_t *at, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

/* Half a byte at a time: a table of 64 bytes is small enough for any part. */
uint32_t frame_crc(uint32_t crc, const void *data, size_t size)
{
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
		0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const uint8_t *byte = data;

	crc = ~crc;
	for (size_t i = 0; i < size; i++) {
		crc ^= byte[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

/* How many bytes at the beginning of @data agree with the magic, of those that there are. */
static size_t agreeing(const uint8_t *data, size_t size)
{
	uint8_t magic[4];
	size_t i;

	frame_put(magic, FRAME_MAGIC, sizeof(magic));
	for (i = 0; i < sizeof(magic) && i < size; i++)
		if (data[i] != magic[i])
			break;
	return i;
}

/* From byte 1 on: where may the next frame begin? */
static enum frame_found skip(const uint8_t *data, size_t size, size_t *length)
{
	size_t at;

	for (at = 1; at < size; at++)
		if (agreeing(data + at, 1))
			break;
	*length = at;
	return FRAME_BAD;
}

enum frame_found frame_look(const uint8_t *data, size_t size, struct frame *frame,
			    size_t *length)
{
	uint32_t payload, crc;

	if (agreeing(data, size) < (size < 4 ? size : 4))
		return skip(data, size, length);
	if (size < FRAME_HEAD)
		return FRAME_MORE;
	payload = (uint32_t)frame_get(data + AT_LENGTH, 4);
	if (data[AT_VERSION] != FRAME_VERSION || frame_get(data + AT_FLAGS, 2) ||
	    payload > FRAME_PAYLOAD_MAX)
		return skip(data, size, length);
	if (size - FRAME_HEAD < payload)
		return FRAME_MORE;
	crc = frame_crc(0, data, CHECKED);
	crc = frame_crc(crc, data + FRAME_HEAD, payload);
	if (crc != frame_get(data + AT_CRC, 4))
		return skip(data, size, length);
	*frame = (struct frame){
		.type = data[AT_TYPE],
		.sequence = (uint32_t)frame_get(data + AT_SEQUENCE, 4),
		.length = payload,
		.payload = data + FRAME_HEAD,
	};
	*length = FRAME_HEAD + payload;
	return FRAME_GOOD;
}

size_t frame_seal(uint8_t *buffer, uint8_t type, uint32_t sequence, uint32_t length)
{
	uint32_t crc;

	frame_put(buffer, FRAME_MAGIC, 4);
	buffer[AT_VERSION] = FRAME_VERSION;
	buffer[AT_TYPE] = type;
	frame_put(buffer + AT_FLAGS, 0, 2);
	frame_put(buffer + AT_LENGTH, length, 4);
	frame_put(buffer + AT_SEQUENCE, sequence, 4);
	crc = frame_crc(0, buffer, CHECKED);
	crc = frame_crc(crc, buffer + FRAME_HEAD, length);
	frame_put(buffer + AT_CRC, crc, 4);
	return FRAME_HEAD + length;
}
