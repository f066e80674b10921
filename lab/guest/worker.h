/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread or process of a guest test that is isolated. */
#ifndef LAB_WORKER_H
#define LAB_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "iso.h"

enum worker_state { WORKER_NEW, WORKER_RUNS, WORKER_FAILED, WORKER_OVER };

/*
 * A thread or process that isolates a CPU and stays in user mode, apart from its
 * ticks and from what each() does.
 */
struct worker {
	/* wanted */
	int cpu;
	bool plain;			/* pinned and FIFO, but not isolated */
	bool other;			/* SCHED_OTHER, not FIFO */
	_Atomic unsigned int tick_ms;	/* 0: only when tick_now says so */
	uint64_t deadline_ns, spin_ns, yield_ns;
	uint32_t flags;			/* of the start: ISOLATOR_START_* */
	unsigned int life_s;		/* x guest_slower(): ends by itself, default 60 */
	void (*each)(struct worker *w);	/* called in every round */
	void *data;
	/* told */
	_Atomic bool stop;
	_Atomic unsigned int tick_now;	/* raise to ask for one tick */
	/* seen */
	_Atomic int state;
	int error;
	pid_t tid;
	struct iso iso;
	_Atomic unsigned int ticked;	/* follows tick_now */
	_Atomic uint64_t rounds, ticks, due_seen;
	_Atomic unsigned int due, end;	/* copies for other processes */
	_Atomic uint64_t queued, missed, yields;
	struct isolator_tick_args last;
	pthread_t thread;
};

/* Memory for a worker that two processes can see. */
struct worker *worker_new(int cpu);
/* Starts it and waits until it spins; false and a TAP comment when it cannot. */
bool worker_thread(struct worker *w);
bool worker_process(struct worker *w);
/* Ends the test where a worker that it needs could not start. */
void need_worker(bool started);
/* Asks it to end and waits for that. */
void worker_end(struct worker *w);
/* One tick of the worker's, waited for at most ms; false: it did not come. */
bool worker_tick(struct worker *w, unsigned int ms);
/* Until what it tells of its page is of after this call. */
void worker_tells(const struct worker *w);
/*
 * Does its loop go round?  A worker whose isolation has ended leaves it at its next tick: let
 * tick_ms be 0 two rounds before.
 */
bool worker_runs_on(const struct worker *w);

#endif
