/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that the observer tells from others by their bytes. */
#ifndef DECODE_H
#define DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MARK_MAGIC	0x15u

static inline bool is_return(const uint8_t *b, size_t size)
{
	if (size == 2 && b[0] == 0x48 && b[1] == 0xcf)
		return true;				/* iretq */
	if (size == 3 && b[0] == 0x48 && b[1] == 0x0f)
		return b[2] == 0x07 || b[2] == 0x35;	/* sysretq, sysexitq */
	return false;
}

static inline bool is_mark(const uint8_t *b, size_t size)
{
	static const uint8_t nopl[] = { 0x0f, 0x1f, 0x84, 0x00 };

	return size == 8 && !memcmp(b, nopl, sizeof(nopl)) && b[7] == MARK_MAGIC;
}

static inline bool is_swapgs(const uint8_t *b, size_t size)
{
	return size == 3 && b[0] == 0x0f && b[1] == 0x01 && b[2] == 0xf8;
}

#endif
