// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: bpf-rawtp
 * row: 5, 7
 * class: defer
 * kind: program
 * notick: no
 * about: a BPF program is attached to every system call's entry, counts, and is detached
 */
#include "bpfrun.h"
#include "trigger.h"

enum { ROUNDS = 3, CALLS = 20 };

static int open_point(int prog)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uintptr_t)"sys_enter";
	attr.raw_tracepoint.prog_fd = (uint32_t)prog;
	return bpf_ask(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

static int make_counter(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(int);
	attr.value_size = sizeof(uint64_t);
	attr.max_entries = 1;
	return bpf_ask(BPF_MAP_CREATE, &attr);
}

static uint64_t count(int map)
{
	union bpf_attr attr;
	uint64_t value;
	int key = 0;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&value;
	need(!bpf_ask(BPF_MAP_LOOKUP_ELEM, &attr));
	return value;
}

/* Adds one to the map's value at each call. */
static int load(int map)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 },
		BPF_COPY(BPF_REG_2, BPF_REG_10),
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4 },
		BPF_SET_MAP(BPF_REG_1, map),
		BPF_CALL_HELPER(BPF_FUNC_map_lookup_elem),
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2 },
		BPF_SET(BPF_REG_1, 1),
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_0,
		  .src_reg = BPF_REG_1, .imm = BPF_ADD },
		BPF_SET(BPF_REG_0, 0),
		BPF_END_PROGRAM,
	};

	return bpf_load(BPF_PROG_TYPE_RAW_TRACEPOINT, code, sizeof(code));
}

int main(void)
{
	int map = make_counter(), prog, counted = 0;

	need(map >= 0);
	prog = load(map);
	need(prog >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before = count(map);
		int point = open_point(prog);

		need(point >= 0);
		for (int call = 0; call < CALLS; call++)
			syscall(SYS_getppid);
		close(point);
		counted += count(map) >= before + CALLS;
	}
	answer(counted == ROUNDS, "done", "%d of %d times the calls were counted, in all %lu",
	       counted, ROUNDS, count(map));
}
