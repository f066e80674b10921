// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ways: tells what a CPU executes from some instructions on until it comes to some others, such
 * as on its way into the kernel and out.  A QEMU TCG plugin.
 *
 *	-plugin ways.so,out=FILE,window=N,begin=ADDR[:ADDR...],end=ADDR[:ADDR...]
 *
 * It looks in the window N of the CPU that makes its marks (lab/guest/marker.h).  At the end there
 * is a JSON line for each block of a way that came to its end, and one that says how many ways
 * began, and how many ended.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "blocks.h"
#include "machine.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

#define MAX_VCPUS	64
#define MAX_ADDRESSES	64
/* Blocks of one way, each once: it is a few hundred instructions. */
#define MAX_WAY		4096

static struct addresses {
	uint64_t at[MAX_ADDRESSES];
	unsigned int count;
} begins, ends;
static FILE *out;
static const struct machine *machine;
static bool copies;
static uint32_t window;

/* Each by its own thread only, until the end. */
static struct vcpu {
	bool open, inside;
	uint64_t begun, ended;
	unsigned int count;
	struct block *way[MAX_WAY];
} vcpus[MAX_VCPUS];

static void add(struct vcpu *vcpu, struct block *block)
{
	/* A CPU that waits for another one goes round for as long as the host does not run that. */
	for (unsigned int i = vcpu->count; i--;)
		if (vcpu->way[i] == block)
			return;
	/* One that does not come to its end is not among those that ended. */
	if (vcpu->count == MAX_WAY)
		vcpu->inside = false;
	else
		vcpu->way[vcpu->count++] = block;
}

static void on_block(unsigned int number, void *block)
{
	struct vcpu *vcpu = &vcpus[number % MAX_VCPUS];

	if (vcpu->inside)
		add(vcpu, block);
}

static void on_begin(unsigned int number, void *rest)
{
	struct vcpu *vcpu = &vcpus[number % MAX_VCPUS];

	if (!vcpu->open)
		return;
	vcpu->begun++;
	vcpu->inside = true;
	vcpu->count = 0;
	add(vcpu, rest);
}

static void on_end(unsigned int number, void *unused)
{
	struct vcpu *vcpu = &vcpus[number % MAX_VCPUS];

	(void)unused;
	if (!vcpu->inside)
		return;
	for (unsigned int i = 0; i < vcpu->count; i++)
		block_executed(vcpu->way[i]);
	vcpu->inside = false;
	vcpu->ended++;
}

static void on_mark(unsigned int number, void *op)
{
	struct vcpu *vcpu = &vcpus[number % MAX_VCPUS];

	vcpu->open = (uintptr_t)op == MARK_WINDOW_BEGIN;
	vcpu->inside = false;
}

static bool is_in(const struct addresses *list, uint64_t pc)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (list->at[i] == pc)
			return true;
	return false;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t pc = qemu_plugin_tb_vaddr(tb), end = block_end(tb);
	struct block *block = NULL;
	uint8_t bytes[MAX_BYTES];
	uint32_t payload;

	(void)id;
	if (pc >> 63)
		block = block_place(pc, end);
	if (block)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = plugin_insn_bytes(insn, bytes, copies);
		unsigned int op;

		if (is_in(&begins, pc) && (block = block_place(pc, end)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin,
							       QEMU_PLUGIN_CB_NO_REGS, block);
		if (is_in(&ends, pc))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_end,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
		pc += qemu_plugin_insn_size(insn);
		if (!machine->mark(bytes, size, &payload) || mark_id(payload) != window)
			continue;
		op = mark_op(payload);
		if (op == MARK_WINDOW_BEGIN || op == MARK_WINDOW_END)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)op);
	}
}

static void on_exit_qemu(qemu_plugin_id_t id, void *userdata)
{
	uint64_t begun = 0, ended = 0;

	(void)id;
	(void)userdata;
	for (unsigned int v = 0; v < MAX_VCPUS; v++) {
		begun += vcpus[v].begun;
		ended += vcpus[v].ended;
	}
	blocks_write(out);
	fprintf(out, "{\"schema\": \"isolator.observer.ways\", \"version\": 1, \"begun\": %" PRIu64
		", \"ended\": %" PRIu64 ", \"dropped\": %" PRIu64 "}\n", begun, ended, dropped);
	fclose(out);
}

static int read_addresses(struct addresses *list, char *text)
{
	char *word;

	while ((word = strsep(&text, ":"))) {
		char *end;

		if (list->count == MAX_ADDRESSES)
			return -1;
		list->at[list->count++] = strtoull(word, &end, 16);
		if (!*word || *end)
			return -1;
	}
	return 0;
}

static int set(char *arg)
{
	if (!strncmp(arg, "out=", 4)) {
		out = fopen(arg + 4, "we");
		return out ? 0 : -1;
	}
	if (!strncmp(arg, "begin=", 6))
		return read_addresses(&begins, arg + 6);
	if (!strncmp(arg, "end=", 4))
		return read_addresses(&ends, arg + 4);
	if (strncmp(arg, "window=", 7))
		return -1;
	window = (uint32_t)strtoul(arg + 7, NULL, 10);
	return window ? 0 : -1;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	machine = machine_wanted("ways", info);
	if (!machine)
		return -1;
	if (plugin_options("ways", set, argc, argv))
		return -1;
	if (!out || !window || !begins.count || !ends.count) {
		fprintf(stderr, "ways: out=FILE, window=N, begin= and end=ADDR are needed\n");
		return -1;
	}
	copies = info->version.cur >= 3;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
	return 0;
}
