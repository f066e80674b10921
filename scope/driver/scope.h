/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isolator_scope: a trigger from outside, and every mechanism of the kernel that answers it
 * on a line of its own.
 *
 * A back end (ivshmem.c, gpio.c) has the trigger's interrupt and the lines.  Its hard
 * interrupt handler calls scope_trigger(), which answers for the mechanism "irq", queues the
 * trigger's sequence for every other one and sets that off.  A mechanism answers for all that
 * is in its queue when it runs, so that what it was too late for has its own answer.
 */
#ifndef SCOPE_H
#define SCOPE_H

#include <linux/interrupt.h>
#include <linux/irq_poll.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/swait.h>
#include <linux/workqueue.h>

#include "../include/isolator_scope.h"
#include "../include/scope_lines.h"

struct scope;
struct scope_mechanism;
struct scope_quiet;

enum scope_mechanism_id {
	SCOPE_IRQ,
	SCOPE_IRQ_THREAD,
	SCOPE_SOFTIRQ,
	SCOPE_TASKLET,
	SCOPE_BH_WORK,
	SCOPE_WORK,
	SCOPE_WORK_UNBOUND,
	SCOPE_WORK_HIGH,
	SCOPE_KTHREAD,
	SCOPE_USER,
	SCOPE_POLL,
	SCOPE_KERNEL_POLL,
	SCOPE_MECHANISMS,
};

struct scope_mechanism_ops {
	const char *name;
	/* Makes it ready; may sleep. NULL: nothing to do. */
	int (*start)(struct scope_mechanism *m);
	/* Sets it off, in the hard interrupt. NULL: it is not set off from there. */
	void (*kick)(struct scope_mechanism *m);
	/* It does not run any more, nor will; may sleep. NULL: nothing to do. */
	void (*stop)(struct scope_mechanism *m);
};

struct scope_mechanism {
	const struct scope_mechanism_ops *ops;
	struct scope *scope;
	int line;		/* -1: it answers on none; changed under scope->lock */
	unsigned int delay_us;	/* planted: it waits so long before it answers */
	unsigned long answered;
	unsigned long overrun;	/* triggers that its queue had no room for */

	/* One producer, the interrupt; one consumer, the mechanism. */
	u32 head, tail;
	u32 queue[SCOPE_QUEUE];

	union {
		struct irq_poll poll;
		struct tasklet_struct tasklet;
		struct work_struct work;
		struct task_struct *thread;
		struct swait_queue_head wait;
		struct scope_quiet *quiet;
	};
};

/* What a back end can do; all in any context, without sleeping. */
struct scope_backend {
	unsigned int nr_lines;
	/* The answer of @sequence on @line, which has no other writer meanwhile. */
	void (*answer)(struct scope *scope, unsigned int line, u32 sequence);
	/* @name answers on @line from now on; NULL: nothing does. NULL: nobody wants to know. */
	void (*offer)(struct scope *scope, unsigned int line, const char *name);
	/* Physical address of the header, or of a line, to be mapped; NULL: lines are no memory. */
	phys_addr_t (*memory)(struct scope *scope, int line);
	/* The same memory as the kernel has it, until scope_destroy(). With memory only. */
	struct scope_lines *(*mapped)(struct scope *scope);
};

struct scope {
	struct kref kref;
	struct miscdevice misc;
	struct device *dev;		/* the back end's */
	const struct scope_backend *backend;
	void *lines;			/* the back end's own */
	int irq;
	bool gone;			/* the back end is; written under lock */
	struct mutex lock;		/* mapping of lines, readers, end */
	struct list_head files;		/* that are open; under lock */
	struct file *reader;		/* under lock */
	u32 read, answered;		/* the reader's; under lock */
	unsigned long spurious;		/* interrupts without a new trigger */
	struct scope_mechanism mechanism[SCOPE_MECHANISMS];
};

/*
 * A scope with its device file, all mechanisms on lines of their own as far as there are any.
 * @irq is requested here: @handler is to call scope_trigger(). Sleeps. An error pointer:
 * nothing is left.
 */
struct scope *scope_create(struct device *dev, const struct scope_backend *backend, void *lines,
			   int irq, irq_handler_t handler);

/* After this no line is written to. Sleeps. */
void scope_destroy(struct scope *scope);
void scope_put(struct scope *scope);

/* A trigger came. In the hard interrupt; what the handler is to return. */
irqreturn_t scope_trigger(struct scope *scope, u32 sequence);

/* file.c: what is mapped from @from on faults anew. The lock is held. */
void scope_unmap(struct scope *scope, loff_t from);

/* mechanism.c; @line -1: none. The lock is held. An error: it has none. */
void scope_mechanisms_init(struct scope *scope);
int scope_mechanism_map(struct scope_mechanism *m, int line);
bool scope_queue_take(struct scope_mechanism *m, u32 *sequence);
bool scope_queue_any(const struct scope_mechanism *m);
void scope_answer(struct scope_mechanism *m, u32 sequence);
void scope_drain(struct scope_mechanism *m);

/*
 * The answer of @sequence on a line of shared memory, which has no other writer. A quiet section
 * does it, too: nothing here is called.
 */
static __always_inline void scope_line_answer(struct scope_line *line, u32 sequence)
{
	u32 head = READ_ONCE(line->head);

	WRITE_ONCE(line->ring[head % SCOPE_LINES_RING], sequence);
	/* Pairs with the generator's acquire: the sequence is there before it is counted. */
	smp_store_release(&line->head, head + 1);
}

/* quiet.c: of the mechanism kernel-poll. -EOPNOTSUPP: nothing isolates a CPU for it. */
int scope_quiet_start(struct scope_mechanism *m);
void scope_quiet_stop(struct scope_mechanism *m);

extern const struct scope_mechanism_ops scope_mechanism_ops[SCOPE_MECHANISMS];
extern const struct attribute_group *scope_groups[];
extern const struct file_operations scope_fops;

/* Before the first scope. */
void scope_knobs_init(void);

int scope_ivshmem_init(void);
void scope_ivshmem_exit(void);
int scope_gpio_init(void);
void scope_gpio_exit(void);

#endif
