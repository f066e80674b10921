/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the observer has to know of the machine that is emulated. */
#ifndef LAB_OBSERVER_MACHINE_H
#define LAB_OBSERVER_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin.h"

struct machine {
	const char *target;	/* as QEMU calls it */
	/*
	 * User mode enters by slots that causes share, and a function tells which it was (cause.h);
	 * without, the first kernel instruction does.
	 */
	bool slots;
	/* A mark: then @payload is op << 20 | id in its lower 24 bits. */
	bool (*mark)(const uint8_t *b, size_t size, uint32_t *payload);
	bool (*swaps)(const uint8_t *b, size_t size);	/* swapgs; NULL: there is none */
	bool (*returns)(const uint8_t *b, size_t size);	/* perhaps to user mode */
	int (*heavy_kind)(const uint8_t *b, size_t size);	/* of heavy.h, or -1 */
	/* The second of two in a row that are a HEAVY_SYNC, too; NULL: there are none. */
	bool (*syncs)(const uint8_t *before, const uint8_t *b);
};

#pragma GCC visibility push(hidden)
extern const struct machine machine_x86_64, machine_arm64;
#pragma GCC visibility pop

/* NULL: none of them. */
const struct machine *machine_of(const char *target);

/* The one that is emulated; for any other @name, a plugin, says so: NULL. */
static inline const struct machine *machine_wanted(const char *name, const qemu_info_t *info)
{
	const struct machine *machine = machine_of(info->target_name);

	if (info->system_emulation && machine)
		return machine;
	fprintf(stderr, "%s: no machine that it knows: %s\n", name, info->target_name);
	return NULL;
}

#endif
