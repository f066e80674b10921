/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's events that tell what a CPU did, each with its numbers and names. */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include "attribute/trace_ring.h"

#define TRACE_NUMBERS 5
#define TRACE_TEXTS 2
#define TRACE_TEXT 32

/* What of n[] and text[] each has stands in trace_events.c. */
enum trace_type {
	TRACE_SWITCH,		/* prev pid, prio, state, next pid, prio; prev and next comm */
	TRACE_WAKING,		/* pid, prio, target CPU; comm */
	TRACE_MIGRATE,		/* pid, prio, from CPU, to CPU; comm */
	TRACE_IRQ_ENTRY,	/* number; handler */
	TRACE_IRQ_EXIT,		/* number */
	TRACE_VECTOR_ENTRY,	/* vector; the event's name says which */
	TRACE_VECTOR_EXIT,
	TRACE_IPI_ENTRY,	/* address of the reason */
	TRACE_IPI_EXIT,
	TRACE_IPI_SEND,		/* CPU, call site, callback */
	TRACE_IPI_MASK,		/* mask of CPUs, call site, callback */
	TRACE_IPI_RAISE,	/* mask of CPUs, address of the reason */
	TRACE_CALL_QUEUE,	/* CPU, call site, function, call */
	TRACE_CALL_ENTRY,	/* function, call */
	TRACE_CALL_EXIT,	/* function, call */
	TRACE_SOFTIRQ_ENTRY,	/* vector */
	TRACE_SOFTIRQ_EXIT,
	TRACE_TASKLET_ENTRY,	/* function, tasklet */
	TRACE_TASKLET_EXIT,
	TRACE_WORK_QUEUE,	/* function, work, CPU */
	TRACE_WORK_ENTRY,	/* function, work */
	TRACE_WORK_EXIT,
	TRACE_HRTIMER_ENTRY,	/* function, timer */
	TRACE_HRTIMER_EXIT,	/* 0, timer */
	TRACE_TIMER_ENTRY,	/* function, timer */
	TRACE_TIMER_EXIT,	/* 0, timer */
	TRACE_FAULT,		/* address, instruction, error code */
	TRACE_IDLE,		/* state, CPU; UINT32_MAX: left it */
	TRACE_FREQUENCY,	/* kHz, CPU */
	TRACE_NMI,		/* handler, ns that it took until now */
	TRACE_STACK,		/* size; data and size: the addresses */
	TRACE_MARK,		/* 0; what was written to trace_marker */
	TRACE_TYPES,
};

/* Which rings an event is wanted in. */
enum trace_where {
	TRACE_MEASURED = 1,	/* of the measured CPUs */
	TRACE_SENDERS = 2,	/* of the others: who wants something of a measured one */
	TRACE_ALWAYS = 4,	/* it needs not be turned on */
};

/* An event as it is asked for: its fields by name. */
struct trace_kind {
	const char *system, *name;
	const char *call;	/* of a vector; NULL: the type says all */
	enum trace_type type;
	int where;
	const char *numbers[TRACE_NUMBERS];
	const char *texts[TRACE_TEXTS];
	const char *filter;	/* the field that names the CPU aimed at; NULL: none */
};

extern const struct trace_kind trace_kinds[];
extern const size_t trace_kinds_count;

/* How to read one of them from a record. */
struct trace_reader {
	const struct trace_kind *kind;
	struct trace_field pid, numbers[TRACE_NUMBERS], texts[TRACE_TEXTS];
};

struct trace_readers {
	struct trace_layout layout;
	struct trace_reader *readers;
	size_t count;
	unsigned char of_id[UINT16_MAX + 1];	/* 0: none, else one more than its place */
};

struct trace_event {
	uint64_t ns;
	enum trace_type type;
	int pid;			/* of the task that ran */
	const char *call;		/* of a vector */
	int64_t n[TRACE_NUMBERS];
	char text[TRACE_TEXTS][TRACE_TEXT];
	/* Of masks and stacks, in the record. */
	const unsigned char *data;
	size_t size;
};

/* Adds the event of @format; false: it has not what is wanted of @kind. */
bool trace_readers_add(struct trace_readers *readers, const struct trace_kind *kind,
		       const struct trace_format *format);
void trace_readers_free(struct trace_readers *readers);

#define TRACE_BIT(type) (UINT64_C(1) << (type))
#define TRACE_EACH UINT64_MAX

/*
 * False: it is none of those added, or not of the @types (TRACE_BIT()) wanted, or its
 * fields lie outside of it.
 */
bool trace_event_read(const struct trace_readers *readers, uint64_t types,
		      const struct trace_record *record, struct trace_event *event);

/* Has the mask in @event a bit for @cpu? */
bool trace_event_mask_has(const struct trace_event *event, int cpu);

/* The @n-th address of a stack; 0: there is none. */
uint64_t trace_event_address(const struct trace_event *event, size_t n);

#endif
