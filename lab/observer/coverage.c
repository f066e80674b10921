// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Coverage: tells which text of some functions was executed.  A QEMU TCG plugin.
 *
 *	-plugin coverage.so,out=FILE,ranges=FILE
 *
 * Each line of the second file has a range, its begin and its end in hexadecimal, in order.
 * At the end there is a JSON line for each block that begins in one of them and was executed,
 * whole or up to an exception.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>

#include "blocks.h"
#include "plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

static FILE *out;
static struct range {
	uint64_t begin, end;
} *ranges;
static size_t nr_ranges;

static void on_block(unsigned int vcpu, void *block)
{
	(void)vcpu;
	block_executed(block);
}

static int compare(const void *key, const void *range)
{
	uint64_t pc = *(const uint64_t *)key;
	const struct range *r = range;

	return pc < r->begin ? -1 : pc >= r->end;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t begin = qemu_plugin_tb_vaddr(tb);
	struct block *block;

	(void)id;
	if (!bsearch(&begin, ranges, nr_ranges, sizeof(*ranges), compare))
		return;
	block = block_place(begin, block_end(tb));
	if (block)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void on_exit_qemu(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	blocks_write(out);
	fprintf(out, "{\"schema\": \"isolator.observer.blocks\", \"version\": 1, \"dropped\": %"
		PRIu64 "}\n", dropped);
	fclose(out);
}

static int read_ranges(const char *path)
{
	FILE *file = fopen(path, "re");
	struct range one;

	while (file && fscanf(file, "%" SCNx64 " %" SCNx64, &one.begin, &one.end) == 2) {
		struct range *more = reallocarray(ranges, nr_ranges + 1, sizeof(*ranges));

		if (!more)
			break;
		ranges = more;
		ranges[nr_ranges++] = one;
	}
	if (file)
		fclose(file);
	return nr_ranges ? 0 : -1;
}

static int set(char *arg)
{
	if (!strncmp(arg, "out=", 4)) {
		out = fopen(arg + 4, "we");
		return out ? 0 : -1;
	}
	return strncmp(arg, "ranges=", 7) ? -1 : read_ranges(arg + 7);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
					   char **argv)
{
	(void)info;
	if (plugin_options("coverage", set, argc, argv))
		return -1;
	if (!out || !nr_ranges) {
		fprintf(stderr, "coverage: out=FILE and ranges=FILE are needed\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_exit_qemu, NULL);
	return 0;
}
