/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The isolation of one task by another: it begins when the task next returns to user
 * mode, which may be long, so that a thread of this process waits for it.
 */
#ifndef ISOLATE_H
#define ISOLATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/isolator.h>

#define ISOLATE_NAME 16		/* of a task, with its end */

enum isolate_state {
	ISOLATE_ASKED,		/* nobody knows yet */
	ISOLATE_ON,
	ISOLATE_REFUSED,	/* error says why */
	ISOLATE_GONE,		/* the task has ended, isolated or not */
};

struct isolate {
	pid_t tid;
	int cpu;
	char name[ISOLATE_NAME];	/* of the task when it was found */
	char *start;		/* when the task began (machine/task.h); NULL: at its exec */
	const char *found;	/* why it was chosen: "exec", "name", "affinity" */
	enum isolate_state state;
	int error;
	struct isolator_start_args asked;
	/* The thread's, until done. */
	int device;
	uint64_t *starts;	/* one more when it is isolated; NULL: nobody looks */
	struct isolator_task_args args;
	int answer;
	bool done;
	bool waits;		/* the thread is to be joined */
	pthread_t thread;
};

/* What is asked of the kernel for any task of one command. */
struct isolate_wish {
	uint64_t deadline_ns, spin_ns, yield_ns, batch_ns;	/* 0: the kernel's default, or none */
	bool quarantine;	/* siblings unmap memory without waiting */
};

/* Was anything asked for that has no default here? */
static inline bool isolate_wish_given(const struct isolate_wish *wish)
{
	return wish->batch_ns || wish->deadline_ns || wish->spin_ns || wish->quarantine;
}

/* A new one, to be freed by isolate_free(). */
struct isolate *isolate_new(int device, pid_t tid, int cpu, const char *found,
			    const struct isolate_wish *wish);

/* Asks for the start at the task's next exec: 0 or the errno. */
int isolate_arm(struct isolate *isolate);

/* Asks for the start, and waits itself: 0, with what is in force in asked, or the errno. */
int isolate_now(struct isolate *isolate);

/* Asks for the start, and lets a thread wait: 0 or the errno. */
int isolate_ask(struct isolate *isolate);

/*
 * Has the thread an answer?  Then the state is ON, REFUSED or GONE.  An armed start that
 * has begun meanwhile is an answer, too.
 */
bool isolate_answered(struct isolate *isolate);

/* The task must have ended, or its start be taken back: waits for the thread. */
void isolate_free(struct isolate *isolate);

#endif
