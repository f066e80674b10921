// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-trampoline
 * row: 5
 * class: defer
 * kind: program
 * notick: no
 * about: a BPF program is called through a trampoline ahead of another's first instruction, and freed
 */
#include <linux/btf.h>
#include "bpfcount.h"

enum { ROUNDS = 3, RUNS = 4 };

enum { TYPE_INT = 1, TYPE_POINTER, TYPE_PROTOTYPE, TYPE_FUNCTION };

/* Offset 0 is no name. */
#define NAMES "\0int\0context\0target"
enum { NAME_INT = 1, NAME_CONTEXT = 5, NAME_TARGET = 13 };

/*
 * What a trampoline must know of its target: int target(void *context). By its own
 * types, so that the kernel needs none of its own (CONFIG_DEBUG_INFO_BTF).
 */
static const struct {
	struct btf_header header;
	struct {
		struct btf_type integer;
		uint32_t encoding;
		struct btf_type pointer;
		struct btf_type prototype;
		struct btf_param context;
		struct btf_type function;
	} types;
	char names[sizeof(NAMES)];
} target_types = {
	.header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(struct btf_header),
		.type_len = sizeof(target_types.types),
		.str_off = sizeof(target_types.types),
		.str_len = sizeof(NAMES),
	},
	.types = {
		.integer = { NAME_INT, BTF_KIND_INT << 24, { sizeof(int) } },
		.encoding = BTF_INT_SIGNED << 24 | 32,
		.pointer = { 0, BTF_KIND_PTR << 24, { 0 } },
		.prototype = { 0, BTF_KIND_FUNC_PROTO << 24 | 1, { TYPE_INT } },
		.context = { NAME_CONTEXT, TYPE_POINTER },
		.function = { NAME_TARGET, BTF_KIND_FUNC << 24, { TYPE_PROTOTYPE } },
	},
	.names = NAMES,
};

/* A program that returns 1, and tells the kernel its type. */
static int load_target(void)
{
	struct bpf_insn code[] = { BPF_SET(BPF_REG_0, 1), BPF_END_PROGRAM };
	struct bpf_func_info function = { .insn_off = 0, .type_id = TYPE_FUNCTION };
	union bpf_attr attr;
	int types, prog;

	memset(&attr, 0, sizeof(attr));
	attr.btf = (uintptr_t)&target_types;
	attr.btf_size = sizeof(target_types);
	types = bpf_ask(BPF_BTF_LOAD, &attr);
	need(types >= 0);

	memset(&attr, 0, sizeof(attr));
	attr.prog_btf_fd = (uint32_t)types;
	attr.func_info = (uintptr_t)&function;
	attr.func_info_cnt = 1;
	attr.func_info_rec_size = sizeof(function);
	prog = bpf_load_with(&attr, BPF_PROG_TYPE_SOCKET_FILTER, code, sizeof(code));
	close(types);
	return prog;
}

/* A program that counts in map how often target begins, once it is attached. */
static int load_entry(int target, int map)
{
	struct bpf_insn code[] = { BPF_COUNT(map) };
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.expected_attach_type = BPF_TRACE_FENTRY;
	attr.attach_prog_fd = (uint32_t)target;
	attr.attach_btf_id = TYPE_FUNCTION;
	return bpf_load_with(&attr, BPF_PROG_TYPE_TRACING, code, sizeof(code));
}

int main(void)
{
	int target = load_target(), map = bpf_counter_create(), called = 0, silent = 0;

	need(target >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		int entry = load_entry(target, map), link;
		uint64_t before = bpf_counter_read(map);

		need(entry >= 0);
		link = bpf_open_point(entry, NULL);
		need(link >= 0);
		need(bpf_run(target, RUNS) == 1);
		called += bpf_counter_read(map) == before + RUNS;
		close(link);
		close(entry);
		before = bpf_counter_read(map);
		need(bpf_run(target, RUNS) == 1);
		silent += bpf_counter_read(map) == before;
	}
	answer(called == ROUNDS && silent == ROUNDS, "done",
	       "%d of %d times called, %d of %d times no more", called, ROUNDS, silent, ROUNDS);
}
