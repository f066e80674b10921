/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs of isolator-bpf find around them in the kernel, for programs that run in a
 * test.  The test sets the clock, and lets an interrupt come amid a program: before each of its
 * accesses to memory, and before and after each helper does its work.
 */
#ifndef FAKE_H
#define FAKE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#define FAKE_TOLD 32

struct record_loss;
struct task_struct;

struct fake {
	__u64 now;
	bool ticks;			/* programs take time: a ns each step */
	__u32 cpu;
	struct task_struct *task;	/* that runs */
	bool calls;			/* only calls of the kernel are steps */
	unsigned int step;		/* of programs, but for those of interrupts */
	unsigned int at[2];		/* steps that an interrupt comes at; 0: none does */
	void (*interrupt)(void);
	bool masked;			/* it is not let in now */
	const char *program;		/* set by the test: that runs */
	const char *met[2];		/* in which it came */
	unsigned int told;
	struct record_loss *losses;	/* room for FAKE_TOLD */
};

extern struct fake fake;

struct fake_map {
	const void *map;
	size_t key, value;	/* their sizes */
	bool array;		/* has all its keys */
};

/* As they were at first: the maps are empty. */
void fake_reset(void);

/* The number @index of the values that the map at @map has, and its key.  NULL: it has less. */
void *fake_value(const void *map, unsigned int index, const void **key);

void *fake_lookup(struct fake_map map, const void *key);
long fake_update(struct fake_map map, const void *key, const void *value, bool only_new);
long fake_delete(struct fake_map map, const void *key);
long fake_tell(const void *data, size_t size);
long fake_stack(void);
__u64 fake_clock(void);
__u32 fake_processor(void);
struct task_struct *fake_task(void);
__u64 fake_pid_tgid(void);
long fake_comm(void *to, size_t size);
long fake_text(void *to, size_t size, const void *from);

#endif
