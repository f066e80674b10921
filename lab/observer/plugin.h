/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each plugin begins with. */
#ifndef LAB_OBSERVER_PLUGIN_H
#define LAB_OBSERVER_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../guest/marker.h"
#include "qemu_plugin.h"

/* Of an instruction that is looked at; those of arm64 have four. */
#define MAX_BYTES	16

/* Of a mark's payload, as struct machine has it. */
static inline uint32_t mark_op(uint32_t payload)
{
	return payload >> 20 & 0xf;
}

static inline uint32_t mark_id(uint32_t payload)
{
	return payload & 0xfffff;
}

/* For another machine @name says so, and gives -1. */
static inline int plugin_wants_x86_64(const char *name, const qemu_info_t *info)
{
	if (info->system_emulation && !strcmp(info->target_name, "x86_64"))
		return 0;
	fprintf(stderr, "%s: needs qemu-system-x86_64\n", name);
	return -1;
}

/* Takes each argument by @set, which gives -1 for one that is bad; then @name says so. */
static inline int plugin_options(const char *name, int (*set)(char *arg), int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (set(argv[i])) {
			fprintf(stderr, "%s: bad option or file: %s\n", name, argv[i]);
			return -1;
		}
	}
	return 0;
}

/* Fills @bytes with the instruction's first bytes, then zeros; @copies: as QEMU 10 does. */
static inline size_t plugin_insn_bytes(const struct qemu_plugin_insn *insn, uint8_t *bytes,
				       bool copies)
{
	size_t size = qemu_plugin_insn_size(insn);
	uintptr_t ret;

	memset(bytes, 0, MAX_BYTES);
	if (size > MAX_BYTES)
		size = MAX_BYTES;
	ret = qemu_plugin_insn_data(insn, bytes, size);
	if (!copies)
		memcpy(bytes, (const void *)ret, size);
	return size;
}

#endif
