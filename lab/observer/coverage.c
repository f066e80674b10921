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
#include <pthread.h>
#include <stdlib.h>

#include "plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 4;

/* Blocks of the few hundred functions that anybody asks for; a power of two. */
#define MAX_BLOCKS	(1 << 17)

static FILE *out;
static struct range {
	uint64_t begin, end;
} *ranges;
static size_t nr_ranges;

/* A place is taken under the lock; whoever executes the block writes one word of it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t dropped;
static struct block {
	uint64_t begin, end;
	uint64_t executed;
} blocks[MAX_BLOCKS];

static void on_block(unsigned int vcpu, void *block)
{
	(void)vcpu;
	__atomic_store_n(&((struct block *)block)->executed, 1, __ATOMIC_RELAXED);
}

static int compare(const void *key, const void *range)
{
	uint64_t pc = *(const uint64_t *)key;
	const struct range *r = range;

	return pc < r->begin ? -1 : pc >= r->end;
}

/* The same text is translated again whenever something near it was patched: one place for all. */
static struct block *place(uint64_t begin, uint64_t end)
{
	size_t at = (begin * 31 + end) * 0x9e3779b97f4a7c15ULL >> 47;
	struct block *found = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < MAX_BLOCKS && !found; i++) {
		struct block *block = &blocks[(at + i) % MAX_BLOCKS];

		if (!block->end) {
			block->begin = begin;
			block->end = end;
		}
		if (block->begin == begin && block->end == end)
			found = block;
	}
	dropped += !found;
	pthread_mutex_unlock(&lock);
	return found;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t begin = qemu_plugin_tb_vaddr(tb), end = begin;
	struct block *block;

	(void)id;
	if (!bsearch(&begin, ranges, nr_ranges, sizeof(*ranges), compare))
		return;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		end += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	block = place(begin, end);
	if (block)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void on_exit_qemu(qemu_plugin_id_t id, void *userdata)
{
	(void)id;
	(void)userdata;
	for (size_t i = 0; i < MAX_BLOCKS; i++)
		if (blocks[i].executed)
			fprintf(out, "{\"schema\": \"isolator.observer.block\", \"version\": 1, "
				"\"begin\": \"0x%" PRIx64 "\", \"end\": \"0x%" PRIx64 "\"}\n",
				blocks[i].begin, blocks[i].end);
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
