/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpf(2), as far as the triggers need it. */
#ifndef LAB_BPF_H
#define LAB_BPF_H

#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A socket filter that lets keep bytes through; returns its descriptor. */
static inline int bpf_filter_load(uint32_t keep)
{
	struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0,
		  .imm = (int32_t)keep },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = sizeof(code) / sizeof(*code);
	attr.license = (uintptr_t)"GPL";
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* An array map of one value of bytes, in vmalloc space; its descriptor. */
static inline int bpf_array_create(uint32_t bytes)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 4096;
	attr.max_entries = bytes / 4096;
	return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

#endif
