/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of code that were executed, each once, however often it was translated. */
#ifndef LAB_OBSERVER_BLOCKS_H
#define LAB_OBSERVER_BLOCKS_H

#include <inttypes.h>
#include <pthread.h>

#include "plugin.h"

/* More than a kernel executes. */
#define BLOCK_BITS	19
#define MAX_BLOCKS	(1 << BLOCK_BITS)

/* A place is taken under the lock; whoever executes the block writes one word of it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t dropped;
static struct block {
	uint64_t begin, end;
	uint64_t executed;
} blocks[MAX_BLOCKS];

/* The same text is translated again whenever something near it was patched: one place for all. */
static inline struct block *block_place(uint64_t begin, uint64_t end)
{
	size_t at = (begin * 31 + end) * 0x9e3779b97f4a7c15ULL >> (64 - BLOCK_BITS);
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

/* Any CPU's thread may say so. */
static inline void block_executed(struct block *block)
{
	__atomic_store_n(&block->executed, 1, __ATOMIC_RELAXED);
}

/* Where it ends. */
static inline uint64_t block_end(const struct qemu_plugin_tb *tb)
{
	uint64_t end = qemu_plugin_tb_vaddr(tb);

	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		end += qemu_plugin_insn_size(qemu_plugin_tb_get_insn(tb, i));
	return end;
}

/* A JSON line for each. */
static inline void blocks_write(FILE *out)
{
	for (size_t i = 0; i < MAX_BLOCKS; i++)
		if (blocks[i].executed)
			fprintf(out, "{\"schema\": \"isolator.observer.block\", \"version\": 1, "
				"\"begin\": \"0x%" PRIx64 "\", \"end\": \"0x%" PRIx64 "\"}\n",
				blocks[i].begin, blocks[i].end);
}

#endif
