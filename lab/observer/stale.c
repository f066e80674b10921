// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stale: tells when a virtual CPU executes patched text of the kernel that memory
 * no longer holds: on x86-64 a breakpoint, on arm64 what a static key switches.
 * A QEMU TCG plugin.
 *
 *	-plugin stale.so,out=FILE
 *
 * QEMU drops the translations of a place before it writes there; another of its threads
 * can translate the old text in between and keep that.  No machine does this.
 *
 * The kernel for x86-64 patches its text with breakpoints, and then dies of an int3 that it
 * does not know.  A CPU that was wrongly not synchronised dies with the same message, but the
 * breakpoint that it executes is in memory still: so memory is read right before.
 *
 * For each one a JSON line is written to FILE at once, as the guest may end by it, and one
 * when the same CPU executes a breakpoint there that memory does hold: so the last line
 * of a CPU and a place tells of the last one.
 *
 * A breakpoint that another CPU removes within the few instructions between the begin of
 * its block and the look is reported, too; where the CPUs are synchronised as they should be,
 * the kernel knows that one, and nothing dies.  One in place of an instruction of a single
 * byte, as a kprobe may set, is not seen if that was put back amid the translation.
 *
 * The kernel for arm64 writes the one instruction over the other, and nothing tells of a stale
 * one but what the kernel does next: it goes on as if the key were not switched.  So memory is
 * read as a block begins that has a nop or a branch, at first each time, then ever less often.
 * What memory does not hold as the same CPU begins the same translation a second time is stale:
 * a write ends a translation, and the CPU was in that at most once.  For each CPU and place
 * one JSON line is written.  A stale branch at a nop that was put back amid the translation is
 * not seen.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "plugin.h"

/* QEMU 9.2 brought the reading of memory; before it there is nothing to tell. */
QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

#define INT3	0xcc
#define KERNEL	(1ULL << 63)
#define MAX_VCPUS	64
/* Places of one virtual CPU whose last instruction was stale; more prove nothing. */
#define MAX_PLACES	256

static struct {
	FILE *out;
} conf;
/* Each by its own thread only. */
static struct vcpu {
	void *places[MAX_PLACES];
	unsigned int count;
} vcpus[MAX_VCPUS];

/* Is there anything to tell?  Notes whether the last one at @place was @stale. */
static bool note(struct vcpu *vcpu, void *place, bool stale)
{
	unsigned int i = 0;

	while (i < vcpu->count && vcpu->places[i] != place)
		i++;
	if (i == MAX_PLACES || (i == vcpu->count && !stale))
		return false;
	if (!stale)
		vcpu->places[i] = vcpu->places[--vcpu->count];
	else if (i == vcpu->count)
		vcpu->places[vcpu->count++] = place;
	return true;
}

/* Is @byte all of an instruction?  In 64-bit mode, of those that the kernel uses. */
static bool whole(uint8_t byte)
{
	switch (byte) {
	case 0x50 ... 0x5f:		/* push, pop */
	case 0x6c ... 0x6f:		/* ins, outs */
	case 0x90 ... 0x99:		/* xchg, nop, cdq */
	case 0x9b ... 0x9f:		/* fwait, pushf, popf, sahf, lahf */
	case 0xa4 ... 0xa7:		/* movs, cmps */
	case 0xaa ... 0xaf:		/* stos, lods, scas */
	case 0xc3: case 0xc9: case 0xcb: case 0xcf:	/* ret, leave, iret */
	case 0xec ... 0xef:		/* in, out */
	case 0xf1: case 0xf4: case 0xf5:		/* int1, hlt, cmc */
	case 0xf8 ... 0xfd:		/* clc to std */
		return true;
	default:
		return false;
	}
}

/*
 * Was a breakpoint translated here?  QEMU copies the bytes out of memory only now: where
 * they have changed since it looked, a single byte was translated that begins a longer
 * instruction.
 */
static bool breakpoint(const struct qemu_plugin_insn *insn)
{
	uint8_t byte;

	return qemu_plugin_insn_size(insn) == 1 &&
	       qemu_plugin_insn_data(insn, &byte, 1) == 1 && !whole(byte);
}

/* @memory: what it holds there, @digits of it. */
static void tell(unsigned int vcpu, void *place, uint32_t memory, int digits)
{
	fprintf(conf.out, "{\"schema\": \"isolator.observer.stale\", \"version\": 1"
		", \"vcpu\": %u, \"pc\": \"%#" PRIxPTR "\", \"memory\": \"%0*" PRIx32 "\"}\n",
		vcpu, (uintptr_t)place, digits, memory);
	fflush(conf.out);
}

static void on_breakpoint(unsigned int vcpu, void *place)
{
	uint8_t memory;

	/* What cannot be read proves nothing. */
	if (!memory_read(&memory, (uintptr_t)place, sizeof(memory)))
		memory = INT3;
	if (vcpu < MAX_VCPUS && note(&vcpus[vcpu], place, memory != INT3))
		tell(vcpu, place, memory, 2);
}

static void on_translate_x86_64(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	size_t i, n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	if (!(pc & KERNEL))
		return;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (breakpoint(insn))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_breakpoint,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)pc);
		pc += qemu_plugin_insn_size(insn);
	}
}

#define NOP		0xd503201f
#define WORD		4
/* So often a translation is looked at each time that it begins; then with each doubling. */
#define EACH_TIME	64

/* One translation of a block; never freed, as QEMU does not tell when it drops one. */
struct block {
	uint64_t pc, begun, next;	/* begun: by all CPUs; how often, about */
	uint64_t before;		/* CPUs that found other text in memory before */
	size_t insns, sites;
	struct {
		uint32_t offset, word;
	} site[];
};

static bool branch(uint32_t word)
{
	return word >> 26 == 0x5;
}

/*
 * Is @word, as it was translated, another one than memory's, by what a static key switches?
 * Here, too, QEMU may have copied the word out of memory only after it had translated the
 * one before: a branch ends a block, so where memory has one amid a block, that was a nop.
 */
static bool switched(uint32_t word, uint32_t memory, bool last)
{
	if (branch(memory))
		return word == NOP || !last;
	return memory == NOP && branch(word);
}

static void on_block(unsigned int vcpu, void *data)
{
	struct block *block = data;
	bool found = false, again;
	uint32_t memory;

	if (vcpu >= MAX_VCPUS || ++block->begun < block->next)
		return;
	block->next = block->begun + (block->begun < EACH_TIME ? 1 : block->begun);
	again = __atomic_load_n(&block->before, __ATOMIC_RELAXED) >> vcpu & 1;
	for (size_t i = 0; i < block->sites; i++) {
		uint64_t place = block->pc + block->site[i].offset;
		bool last = block->site[i].offset / WORD == block->insns - 1;

		if (!memory_read(&memory, place, WORD) ||
		    !switched(block->site[i].word, memory, last))
			continue;
		found = true;
		if (again && note(&vcpus[vcpu], (void *)(uintptr_t)place, true))
			tell(vcpu, (void *)(uintptr_t)place, memory, 2 * WORD);
	}
	if (!found || again)
		return;
	__atomic_fetch_or(&block->before, 1ULL << vcpu, __ATOMIC_RELAXED);
	block->next = block->begun + 1;
}

static bool site(struct qemu_plugin_tb *tb, size_t i, uint32_t *word)
{
	struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

	return qemu_plugin_insn_data(insn, word, WORD) == WORD && (*word == NOP || branch(*word));
}

static void on_translate_aarch64(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	size_t n = qemu_plugin_tb_n_insns(tb), sites = 0;
	struct block *block;
	uint32_t word;

	(void)id;
	if (!(pc & KERNEL))
		return;
	for (size_t i = 0; i < n; i++)
		sites += site(tb, i, &word);
	block = sites ? calloc(1, sizeof(*block) + sites * sizeof(block->site[0])) : NULL;
	if (!block)
		return;
	block->pc = pc;
	block->insns = n;
	/* One that was written meanwhile is none any more, or has become one: for those found. */
	for (size_t i = 0; i < n && block->sites < sites; i++) {
		if (!site(tb, i, &word))
			continue;
		block->site[block->sites].offset = (uint32_t)i * WORD;
		block->site[block->sites++].word = word;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
					   const qemu_info_t *info, int argc,
					   char **argv)
{
	bool arm64 = info->system_emulation && !strcmp(info->target_name, "aarch64");

	if (!arm64 && plugin_wants_x86_64("stale", info))
		return -1;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "stale: out=FILE is needed, and nothing else\n");
		return -1;
	}
	if (!memory_init()) {
		fprintf(stderr, "stale: this QEMU has no GLib\n");
		return -1;
	}
	conf.out = fopen(argv[0] + 4, "we");
	if (!conf.out) {
		perror(argv[0]);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, arm64 ? on_translate_aarch64 :
					      on_translate_x86_64);
	return 0;
}
