/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of noise.bpf.c keep in the kernel, and where on this CPU. */
#ifndef TABLE_BPF_H
#define TABLE_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel.h"
#include "bpf/record.h"

#define ANY_CPU (~0U)
/* The compiler forgets what it knows of @value: what checks it then stays, for the verifier. */
#define OPAQUE(value) asm volatile("" : "+r"(value))
/* It has written by here what comes before, and reads what comes behind again. */
#define BARRIER() asm volatile("" ::: "memory")

/* Set before the programs are loaded. */
const volatile __u64 measured_cpus[RECORD_CPUS / 64];
const volatile __u64 threshold_ns = 1;
const volatile int of = 0;	/* losses of this process or thread only; 0: of all in user space */
const volatile bool want_stacks = true;

struct sender_key {
	__u64 what;
	__u32 cpu;		/* that it was sent to */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct record_state);
} states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct record_key);
	__type(value, struct record_tally);
} tallies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct sender_key);
	__type(value, struct record_sender);
} senders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __s32);
	__type(value, struct record_kept);
} kept SEC(".maps");

/* When threads left a measured CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __s32);
	__type(value, __u64);
} moved SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 8192);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, RECORD_STACK * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);	/* bytes; the command sets it */
} ring SEC(".maps");

static struct record_tally empty_tally;
volatile __u32 counting;	/* the command says from when on, and until when */
__u64 without_stack;		/* stacks that the table had no room for */

static __always_inline bool is_measured(__u32 cpu)
{
	if (cpu >= RECORD_CPUS)
		return false;
	OPAQUE(cpu);
	return measured_cpus[cpu / 64 % (RECORD_CPUS / 64)] >> cpu % 64 & 1;
}

/* NULL: this CPU is not measured, or not now. */
static __always_inline struct record_state *here(void)
{
	__u32 zero = 0;

	if (!counting || !is_measured(bpf_get_smp_processor_id()))
		return NULL;
	return bpf_map_lookup_elem(&states, &zero);
}

static __always_inline struct record_frame *frame_at(struct record_state *s, __u32 depth)
{
	OPAQUE(depth);
	return &s->frames[depth % RECORD_FRAMES];
}

/* Not static, as others below: verified by itself, and not along each way to it. */
__noinline __u32 bucket(__u64 ns)
{
	__u32 at = 0;

	if (ns >> 32) {
		at += 32;
		ns >>= 32;
	}
	if (ns >> 16) {
		at += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		at += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		at += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		at += 2;
		ns >>= 2;
	}
	at += ns >> 1;
	return at < RECORD_BUCKETS ? at : RECORD_BUCKETS - 1;
}

#endif
