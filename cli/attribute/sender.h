/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who wanted something of a CPU: interrupts sent, calls and work queued, threads woken. */
#ifndef SENDER_H
#define SENDER_H

#include "attribute/trace_store.h"

#define SENDERS_MOST 4096	/* of one look, the newest */

struct sender {
	uint64_t ns;
	enum trace_type type;
	int pid, cpu;		/* of the sender */
	uint64_t key;		/* the callback, the call, the work, the reason, or who was woken */
	uint64_t stack[CAUSE_STACK];
	size_t nr_stack;
};

struct senders {
	struct sender *list;	/* by time, once it is sorted */
	size_t count, next;
};

void senders_open(struct senders *senders);
void senders_close(struct senders *senders);
void senders_clear(struct senders *senders);

/* Takes @event of @cpu, if it is aimed at @target. */
void senders_see(struct senders *senders, const struct trace_event *event, int cpu, int target);

void senders_sort(struct senders *senders);

/* Who sent what @frame is; NULL: not known. */
const struct sender *sender_of_frame(const struct senders *senders, const struct frame *frame);

/* Who woke the task @pid last before @ns; NULL: not known. */
const struct sender *sender_of_task(const struct senders *senders, int pid, uint64_t ns);

#endif
