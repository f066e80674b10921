/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF map of one number, and the program that counts in it how often it runs. */
#ifndef LAB_BPFCOUNT_H
#define LAB_BPFCOUNT_H

#include "bpfrun.h"
#include "trigger.h"

/* All of such a program. */
#define BPF_COUNT(map)							\
	{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = BPF_REG_10, .off = -4 }, \
	BPF_COPY(BPF_REG_2, BPF_REG_10),				\
	{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = -4 }, \
	BPF_SET_MAP(BPF_REG_1, map),					\
	BPF_CALL_HELPER(BPF_FUNC_map_lookup_elem),			\
	{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = BPF_REG_0, .off = 2 }, \
	BPF_SET(BPF_REG_1, 1),						\
	{ .code = BPF_STX | BPF_ATOMIC | BPF_DW, .dst_reg = BPF_REG_0,	\
	  .src_reg = BPF_REG_1, .imm = BPF_ADD },			\
	BPF_SET(BPF_REG_0, 0),						\
	BPF_END_PROGRAM

/* The map's descriptor; ends the trigger where there is none. */
static inline int bpf_counter_create(void)
{
	union bpf_attr attr;
	int map;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(int);
	attr.value_size = sizeof(uint64_t);
	attr.max_entries = 1;
	map = bpf_ask(BPF_MAP_CREATE, &attr);
	need(map >= 0);
	return map;
}

static inline uint64_t bpf_counter_read(int map)
{
	union bpf_attr attr;
	uint64_t value = 0;
	int key = 0;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)&value;
	need(!bpf_ask(BPF_MAP_LOOKUP_ELEM, &attr));
	return value;
}

#endif
