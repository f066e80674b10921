/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions that cost far more than one cycle, which a count of instructions
 * hides: locked ones and serialising ones.  And what of them, in a row, has a CPU run
 * text as others have changed it.
 */
#ifndef LAB_HEAVY_H
#define LAB_HEAVY_H

#include <stddef.h>
#include <stdint.h>

enum heavy_kind { HEAVY_LOCKED, HEAVY_SERIALISING, HEAVY_FENCE, HEAVY_SYNC, HEAVY_KINDS };

static const char *const heavy_names[HEAVY_KINDS] = {
	"locked", "serialising", "fence", "sync",
};

/* The kind of the instruction, or -1. */
static inline int heavy_kind(const uint8_t *b, size_t size)
{
	size_t i = 0;
	int locked = 0;

	/* prefixes: lock, rep, operand and address size, segments, REX */
	while (i + 1 < size) {
		if (b[i] == 0xf0)
			locked = 1;
		else if (b[i] != 0xf2 && b[i] != 0xf3 && b[i] != 0x66 &&
			 b[i] != 0x67 && b[i] != 0x64 && b[i] != 0x65 &&
			 b[i] != 0x2e && b[i] != 0x3e && (b[i] & 0xf0) != 0x40)
			break;
		i++;
	}
	if (locked)
		return HEAVY_LOCKED;
	if (i + 1 >= size)
		return i < size && b[i] == 0xcf ? HEAVY_SERIALISING : -1;
	/* xchg with memory locks by itself */
	if ((b[i] == 0x86 || b[i] == 0x87) && (b[i + 1] & 0xc0) != 0xc0)
		return HEAVY_LOCKED;
	if (b[i] != 0x0f)
		return -1;
	switch (b[i + 1]) {
	case 0x30:		/* wrmsr */
	case 0xa2:		/* cpuid */
	case 0x22:		/* mov to control register */
	case 0x23:		/* mov to debug register */
	case 0x08:		/* invd */
	case 0x09:		/* wbinvd */
		return HEAVY_SERIALISING;
	case 0x01:		/* invlpg, lgdt, lidt, serialize */
		if (i + 2 < size) {
			uint8_t modrm = b[i + 2];

			if ((modrm & 0xc0) != 0xc0 &&
			    (((modrm >> 3) & 7) == 7 || ((modrm >> 3) & 6) == 2))
				return HEAVY_SERIALISING;
			if (modrm == 0xe8)
				return HEAVY_SERIALISING;
		}
		return -1;
	case 0xae:		/* lfence, mfence, sfence */
		if (i + 2 < size && (b[i + 2] & 0xc0) == 0xc0 &&
		    ((b[i + 2] >> 3) & 7) >= 5)
			return HEAVY_FENCE;
		return -1;
	}
	return -1;
}

#endif /* LAB_HEAVY_H */
