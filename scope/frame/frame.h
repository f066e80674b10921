/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of the scope protocol (docs/scope-protocol.md).  For a microcontroller too: nothing
 * is allocated, nothing is kept between calls, memset() and memmove() are all that is needed
 * of a C library, and byte order and alignment of the machine do not matter.
 */
#ifndef FRAME_H
#define FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC UINT32_C(0x50435349)
#define FRAME_VERSION 1
#define FRAME_HEAD 20		/* bytes before the payload */
#define FRAME_PAYLOAD_MAX 65536

struct frame {
	uint8_t type;
	uint32_t sequence;
	uint32_t length;
	const uint8_t *payload;
};

enum frame_found {
	FRAME_MORE,	/* it may become a frame when more bytes come */
	FRAME_GOOD,	/* *@length bytes are one; its payload points into @data */
	FRAME_BAD,	/* *@length bytes, at least 1, are part of none */
};

/*
 * What are the first bytes of @data?  On TCP FRAME_BAD ends the connection; on a serial
 * line skip those bytes and look again.
 */
enum frame_found frame_look(const uint8_t *data, size_t size, struct frame *frame,
			    size_t *length);

/*
 * Makes a frame of the @length bytes of payload that already stand at @buffer + FRAME_HEAD.
 * Returns its size; @length is at most FRAME_PAYLOAD_MAX.
 */
size_t frame_seal(uint8_t *buffer, uint8_t type, uint32_t sequence, uint32_t length);

/* CRC-32 as zlib has it: of @size bytes behind those that gave @crc; 0 before the first. */
uint32_t frame_crc(uint32_t crc, const void *data, size_t size);

/* A number of 1 to 8 bytes, little-endian. */
void frame_put(uint8_t *at, uint64_t value, unsigned int bytes);
uint64_t frame_get(const uint8_t *at, unsigned int bytes);

#endif
