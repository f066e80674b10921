/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Of the kernel's structures only what the programs read; where that lies in the running
 * kernel libbpf finds out when they are loaded.
 */
#ifndef KERNEL_H
#define KERNEL_H

#define PF_KTHREAD 0x00200000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info {
	__u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
};

struct irqaction {
	const char *name;
};

struct timer_list {
	void *function;
};

struct hrtimer {
	void *function;
};

struct work_struct {
	void *func;
};

#pragma clang attribute pop

#endif
