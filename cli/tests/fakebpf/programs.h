/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of noise.bpf.c what a test calls, sets and reads; the first argument is not used. */
#ifndef FAKE_PROGRAMS_H
#define FAKE_PROGRAMS_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/kernel.h"
#include "bpf/record.h"

extern volatile __u64 measured_cpus[RECORD_CPUS / 64];
extern volatile __u64 threshold_ns;
extern volatile int of;
extern volatile __u32 counting;
extern void *const programs_tallies, *const programs_states;

int switched(void *ctx, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int state);
int migrated(void *ctx, struct task_struct *task, int to);
int irq_entry(void *ctx, int irq, struct irqaction *action);
int irq_exit(void *ctx, int irq, struct irqaction *action, int result);
int local_timer_begins(void *ctx, int vector);
int local_timer_ends(void *ctx, int vector);
int softirq_begins(void *ctx, unsigned int number);
int softirq_ends(void *ctx, unsigned int number);
int hrtimer_begins(void *ctx, struct hrtimer *timer);
int hrtimer_ends(void *ctx, struct hrtimer *timer);
int timer_begins(void *ctx, struct timer_list *timer);
int timer_ends(void *ctx, struct timer_list *timer);
int work_begins(void *ctx, struct work_struct *work);
int work_ends(void *ctx, struct work_struct *work);
int nmi(void *ctx, void *handler, __s64 length, int handled);

#endif
