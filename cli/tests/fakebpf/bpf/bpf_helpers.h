/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for libbpf's header: maps in plain memory, helpers of fake.c. */
#ifndef FAKE_BPF_HELPERS_H
#define FAKE_BPF_HELPERS_H

#include <linux/bpf.h>
#include <stddef.h>

#include "../fake.h"

#define SEC(name)
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#ifndef __noinline
#define __noinline __attribute__((noinline))
#endif

/* What a map is stands in its type only. */
#define FAKE_MAP(map) \
	(struct fake_map){ (map), sizeof(*(map)->key), sizeof(*(map)->value), \
		sizeof(*(map)->type) / sizeof(int) == BPF_MAP_TYPE_PERCPU_ARRAY }
#define bpf_map_lookup_elem(map, key) fake_lookup(FAKE_MAP(map), (key))
#define bpf_map_update_elem(map, key, value, flags) \
	fake_update(FAKE_MAP(map), (key), (value), (flags) == BPF_NOEXIST)
#define bpf_map_delete_elem(map, key) fake_delete(FAKE_MAP(map), (key))
#define bpf_ringbuf_output(map, data, size, flags) ((void)(map), fake_tell((data), (size)))
#define bpf_get_stackid(context, map, flags) ((void)(context), (void)(map), fake_stack())
#define bpf_ktime_get_ns() fake_clock()
#define bpf_get_smp_processor_id() fake_processor()
#define bpf_get_current_task_btf() fake_task()
#define bpf_get_current_pid_tgid() fake_pid_tgid()
#define bpf_get_current_comm(to, size) fake_comm((to), (size))
#define bpf_probe_read_kernel_str(to, size, from) fake_text((to), (size), (from))

#endif
