/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a CPU is about, followed event by event: the task, and above it what interrupted
 * it, the innermost last.  Work and what runs in software interrupts belong to the task
 * they run in: with PREEMPT_RT it may be switched out amid them.
 */
#ifndef CONTEXT_H
#define CONTEXT_H

#include "attribute/cause.h"
#include "attribute/names.h"
#include "attribute/trace_events.h"

#define CONTEXT_DEPTH 12
#define CONTEXT_KEPT 6		/* tasks that were switched out amid something */
#define CONTEXT_KEPT_DEPTH 4

/* Who has the CPU: text is good for as long as the names are. */
struct actor {
	enum cause_kind kind;
	int pid;		/* of a thread; -1: none */
	uint64_t function;	/* its address; 0: text says who */
	const char *text;
};

struct frame {
	struct actor actor;
	enum trace_type type;	/* of the event that began it */
	bool hard;		/* it came by an interrupt, and belongs to no task */
	uint64_t key;		/* what its end names too */
	uint64_t since_ns;
};

struct context {
	bool known;		/* the task is */
	int pid, prio;		/* prio: -1: not known */
	char comm[NAMES_COMM];	/* "": not known */
	uint64_t since_ns;	/* it was switched in; 0: not known */
	int idle;		/* the state; -1: none */
	uint64_t idle_ns;	/* it was entered */
	struct frame frames[CONTEXT_DEPTH];
	unsigned int depth, beyond;	/* beyond: frames that did not fit */
	struct {
		int pid;
		unsigned int depth;
		struct frame frames[CONTEXT_KEPT_DEPTH];
	} kept[CONTEXT_KEPT];
	unsigned int next_kept;
};

/* Nothing is known, as at the begin of a trace and after events that were lost. */
void context_forget(struct context *context);

/* What an event says of the time before it, where nothing was known; call it first. */
void context_learn(struct context *context, const struct trace_event *event);

/* What is so from @event on. */
void context_next(struct context *context, const struct trace_event *event, struct names *names);

/* The innermost frame; NULL: the task itself. */
const struct frame *context_top(const struct context *context);

/* Does @event end something whose begin was not seen?  Then @actor had the CPU. */
bool context_orphan(const struct context *context, const struct trace_event *event,
		    struct names *names, struct actor *actor);

/*
 * The task as an actor: a thread, or what a thread of the kernel stands for.  Its text is
 * the context's, or NULL.
 */
struct actor context_task(const struct context *context);

#endif
