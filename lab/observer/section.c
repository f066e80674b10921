// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Section: tells what a virtual CPU executes between two marks of the kernel's.  A QEMU TCG
 * plugin.
 *
 *	-plugin section.so,out=FILE
 *
 * A quiet section of the kernel marks its begin and its end (lab/guest/marker.h).  Each block
 * that its CPU begins in between is counted by its address, whatever it is: an interrupt, an
 * NMI, an exception and a call are blocks elsewhere.  At the end there is a JSON line for each
 * CPU that has made such marks.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>

#include "machine.h"
#include "plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

#define MAX_VCPUS	64
/* Blocks of one section; a loop has a dozen. */
#define MAX_BLOCKS	512

static FILE *out;
static const struct machine *machine;
static bool copies;

/* Each by its own thread only, until the end. */
static struct vcpu {
	bool inside;
	uint64_t stays, left, dropped;
	unsigned int count;
	struct {
		uint64_t pc, n;
	} blocks[MAX_BLOCKS];
} vcpus[MAX_VCPUS];

static void on_block(unsigned int number, void *pc)
{
	struct vcpu *vcpu = &vcpus[number % MAX_VCPUS];
	unsigned int i;

	if (!vcpu->inside)
		return;
	/* Of one loop the first few are nearly all. */
	for (i = 0; i < vcpu->count && vcpu->blocks[i].pc != (uintptr_t)pc; i++)
		;
	if (i == MAX_BLOCKS) {
		vcpu->dropped++;
		return;
	}
	if (i == vcpu->count) {
		vcpu->blocks[i].pc = (uintptr_t)pc;
		vcpu->count++;
	}
	vcpu->blocks[i].n++;
}

static void on_mark(unsigned int number, void *op)
{
	struct vcpu *vcpu = &vcpus[number % MAX_VCPUS];

	vcpu->inside = (uintptr_t)op == MARK_QUIET_BEGIN;
	if (vcpu->inside)
		vcpu->stays++;
	else
		vcpu->left++;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	size_t i, n = qemu_plugin_tb_n_insns(tb);
	uint8_t bytes[MAX_BYTES];
	uint32_t payload;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)(uintptr_t)pc);
	for (i = 0; i < n && pc >> 63; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = plugin_insn_bytes(insn, bytes, copies);
		unsigned int op;

		if (!machine->mark(bytes, size, &payload))
			continue;
		op = mark_op(payload);
		if (op == MARK_QUIET_BEGIN || op == MARK_QUIET_END)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark,
							       QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(uintptr_t)op);
	}
}

static void on_exit_qemu(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	for (unsigned int v = 0; v < MAX_VCPUS; v++) {
		struct vcpu *vcpu = &vcpus[v];

		if (!vcpu->stays)
			continue;
		fprintf(out, "{\"schema\": \"isolator.observer.section\", \"version\": 1, \"vcpu\": %u"
			", \"stays\": %" PRIu64 ", \"left\": %" PRIu64 ", \"dropped\": %" PRIu64
			", \"blocks\": [", v, vcpu->stays, vcpu->left, vcpu->dropped);
		for (unsigned int i = 0; i < vcpu->count; i++)
			fprintf(out, "%s{\"pc\": \"0x%" PRIx64 "\", \"n\": %" PRIu64 "}",
				i ? ", " : "", vcpu->blocks[i].pc, vcpu->blocks[i].n);
		fprintf(out, "]}\n");
	}
	fclose(out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	machine = machine_wanted("section", info);
	if (!machine)
		return -1;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "section: out=FILE is needed, and nothing else\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "we");
	if (!out) {
		perror(argv[0]);
		return -1;
	}
	copies = info->version.cur >= 3;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
	return 0;
}
