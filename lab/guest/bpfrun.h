/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small BPF programs, written by hand: loaded, run by the kernel, attached. */
#ifndef LAB_BPFRUN_H
#define LAB_BPFRUN_H

#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BPF_SET(reg, value)						\
	((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,	\
			    .dst_reg = (reg), .imm = (value) })
#define BPF_COPY(to, from)						\
	((struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,	\
			    .dst_reg = (to), .src_reg = (from) })
#define BPF_CALL_HELPER(helper)						\
	((struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = (helper) })
#define BPF_END_PROGRAM							\
	((struct bpf_insn){ .code = BPF_JMP | BPF_EXIT })
/* Loading a map's address takes two instructions' room. */
#define BPF_SET_MAP(reg, fd)						\
	((struct bpf_insn){ .code = BPF_LD | BPF_DW | BPF_IMM,		\
			    .dst_reg = (reg),				\
			    .src_reg = BPF_PSEUDO_MAP_FD, .imm = (fd) }), \
	((struct bpf_insn){ 0 })

static inline int bpf_ask(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* The rest of attr is as the caller has it. */
static inline int bpf_load_with(union bpf_attr *attr, enum bpf_prog_type type,
				const struct bpf_insn *code, size_t bytes)
{
	attr->prog_type = type;
	attr->insns = (uintptr_t)code;
	attr->insn_cnt = (uint32_t)(bytes / sizeof(*code));
	attr->license = (uintptr_t)"GPL";
	return bpf_ask(BPF_PROG_LOAD, attr);
}

static inline int bpf_load(enum bpf_prog_type type, const struct bpf_insn *code,
			   size_t bytes)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	return bpf_load_with(&attr, type, code, bytes);
}

/* A program that only returns value. */
static inline int bpf_load_return(enum bpf_prog_type type, int32_t value)
{
	struct bpf_insn code[] = { BPF_SET(BPF_REG_0, value), BPF_END_PROGRAM };

	return bpf_load(type, code, sizeof(code));
}

/* What a program returns for an empty packet, run repeat times; -1: an error. */
static inline int64_t bpf_run(int prog, uint32_t repeat)
{
	static const char packet[64];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)prog;
	attr.test.data_in = (uintptr_t)packet;
	attr.test.data_size_in = sizeof(packet);
	attr.test.repeat = repeat;
	if (bpf_ask(BPF_PROG_TEST_RUN, &attr))
		return -1;
	return attr.test.retval;
}

/* Attaches to a tracepoint, NULL: to what it was loaded for, until the descriptor is closed. */
static inline int bpf_open_point(int prog, const char *name)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uintptr_t)name;
	attr.raw_tracepoint.prog_fd = (uint32_t)prog;
	return bpf_ask(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

/* Attaches to a network device until the returned descriptor is closed. */
static inline int bpf_attach(int prog, int ifindex, int where, uint32_t flags)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)prog;
	attr.link_create.target_ifindex = (uint32_t)ifindex;
	attr.link_create.attach_type = (uint32_t)where;
	attr.link_create.flags = flags;
	return bpf_ask(BPF_LINK_CREATE, &attr);
}

#endif
