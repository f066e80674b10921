/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's memory, as QEMU from 9.2 on lets a plugin read it. */
#ifndef LAB_OBSERVER_MEMORY_H
#define LAB_OBSERVER_MEMORY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "qemu_plugin.h"

/* As in GLib, which QEMU brings. */
struct _GByteArray {
	uint8_t *data;
	unsigned int len;
};

static struct {
	struct _GByteArray *(*new_array)(void);
	uint8_t *(*free_array)(struct _GByteArray *array, int free_segment);
} memory_glib;

/* When the plugin is installed: false, the QEMU has no GLib, and nothing may be read. */
static inline bool memory_init(void)
{
	memory_glib.new_array = dlsym(RTLD_DEFAULT, "g_byte_array_new");
	memory_glib.free_array = dlsym(RTLD_DEFAULT, "g_byte_array_free");
	return memory_glib.new_array && memory_glib.free_array;
}

/* In the thread of a vCPU; false: not all of it can be read. */
static inline bool memory_read(void *to, uint64_t from, size_t size)
{
	struct _GByteArray *bytes = memory_glib.new_array();
	bool done = qemu_plugin_read_memory_vaddr(from, bytes, size) && bytes->len >= size;

	if (done)
		memcpy(to, bytes->data, size);
	memory_glib.free_array(bytes, 1);
	return done;
}

#endif
