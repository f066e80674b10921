/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CPU on which things happen: what a test lets happen there, and what was counted of it. */
#ifndef FAKE_SCENE_H
#define FAKE_SCENE_H

#include "fake.h"
#include "programs.h"

#define CPU 1
#define ELSEWHERE 0

/* Addresses of functions. */
enum { HRTIMER_AT = 0x1000, TIMER_AT, WORK_AT, HANDLER_AT };

extern struct task_struct idle, user, hog, third, kworker;
extern struct irqaction action;
extern struct hrtimer hrtimer;
extern struct timer_list timer;
extern struct work_struct work;
extern __u64 began;		/* what is counted */
extern bool nmis;		/* hard interrupts do not hold off what comes */

/* A program that may be interrupted, one of a hard interrupt, one that nothing comes amid. */
#define RUN(call) (fake.program = #call, (call))
#define HARD(call) (fake.masked = !nmis, RUN(call), fake.masked = false)
#define ALONE(call) (fake.masked = true, RUN(call), fake.masked = false)

/* All is empty, and @first begins to run. */
void set_up(struct task_struct *first);

void pass(__u64 ns);
void turn(struct task_struct *from, struct task_struct *to, bool preempt, unsigned int why);

/* @task goes to another CPU, which that one does. */
void move_away(struct task_struct *task);
void irq(int number, __u64 ns);
void softirq(unsigned int number, __u64 ns);

struct record_state *state(void);

/* What @type has in all, of @who, or of a thread @comm if that is not NULL. */
__u64 sum_of(__u32 type, __u64 who, const char *comm);

/* All that had the CPU, with what still has it. */
__u64 total(void);

struct lost {
	__u64 ns, explained;
	bool over;		/* one is explained by more than it was */
	bool overlap;
	struct record_loss last;
};

/* What was told, and what the command finds when the programs are gone. */
struct lost losses(void);

#endif
