// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "decode.h"
#include "heavy.h"
#include "machine.h"

static bool x86_mark(const uint8_t *b, size_t size, uint32_t *payload)
{
	if (!is_mark(b, size))
		return false;
	memcpy(payload, b + 4, sizeof(*payload));
	return true;
}

const struct machine machine_x86_64 = {
	.target = "x86_64",
	.mark = x86_mark,
	.swaps = is_swapgs,
	.returns = is_return,
	.heavy_kind = heavy_kind,
};

static uint32_t word(const uint8_t *b)
{
	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* movz xzr, #op << 12 | id, lsl #48: lab/guest/marker.h */
static bool arm64_mark(const uint8_t *b, size_t size, uint32_t *payload)
{
	uint32_t insn = word(b), imm = (insn >> 5) & 0xffff;

	if (size != 4 || (insn & 0xffe0001f) != 0xd2e0001f)
		return false;
	*payload = (imm >> 12) << 20 | (imm & 0xfff);
	return true;
}

/* An exclusive store stands for its pair; loads with acquire and stores with release are none. */
static bool arm64_locked(uint32_t insn)
{
	if ((insn & 0x3f000000) == 0x08000000) {
		bool ordered = insn & 1u << 23, load = insn & 1u << 22, pair = insn & 1u << 21;

		if (pair && (ordered || !(insn & 1u << 31)))
			return true;		/* cas, casp */
		return !ordered && !load;	/* stxr, stxp */
	}
	/* ldadd, swp and the like, but not ldapr */
	return (insn & 0x3f200c00) == 0x38200000 && (insn & 0x3ffffc00) != 0x38bfc000;
}

static int arm64_heavy(const uint8_t *b, size_t size)
{
	uint32_t insn = word(b);

	if (size != 4)
		return -1;
	if (arm64_locked(insn))
		return HEAVY_LOCKED;
	if ((insn & 0xfffff0ff) == 0xd50330df ||	/* isb */
	    (insn & 0xfff80000) == 0xd5080000 ||	/* sys: tlbi, ic, dc */
	    (insn & 0xfff00000) == 0xd5100000 ||	/* msr */
	    insn == 0xd69f03e0)				/* eret */
		return HEAVY_SERIALISING;
	if ((insn & 0xfffff0ff) == 0xd503309f || (insn & 0xfffff0ff) == 0xd50330bf)
		return HEAVY_FENCE;			/* dsb, dmb */
	return -1;
}

/* dsb ishst; isb */
static bool arm64_syncs(const uint8_t *before, const uint8_t *b)
{
	return word(before) == 0xd5033a9f && word(b) == 0xd5033fdf;
}

const struct machine machine_arm64 = {
	.target = "aarch64",
	.slots = true,
	.mark = arm64_mark,
	.heavy_kind = arm64_heavy,
	.syncs = arm64_syncs,
};

const struct machine *machine_of(const char *target)
{
	if (!strcmp(target, machine_x86_64.target))
		return &machine_x86_64;
	return strcmp(target, machine_arm64.target) ? NULL : &machine_arm64;
}
