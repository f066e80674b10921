/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A measuring thread: where it is, what it got, and how it is started and ended. */
#ifndef SEAT_H
#define SEAT_H

#include <pthread.h>
#include <semaphore.h>

#include "sampling/method.h"
#include "sampling/policy.h"

enum seat_state { SEAT_STARTING, SEAT_READY, SEAT_FAILED, SEAT_DONE };

struct seat {
	struct worker worker;
	struct policy policy;	/* asked for */
	int event;		/* gets a word when the thread has ended */
	pthread_t thread;
	bool started;
	sem_t go;
	uint32_t state;		/* enum seat_state */
	/* Read back: */
	struct policy got;
	bool bound;		/* to its CPU alone */
	long slack_ns;		/* of its timers */
	struct outlier_ring ring;
};

/* SIGUSR1 wakes a thread, and has no other effect. */
void seat_prepare(void);

/* Starts the thread, which waits for seat_go().  False: said why. */
bool seat_start(struct seat *seat);

/* Until all are ready; false: one is not, said why. */
bool seat_await(struct seat *seats, size_t count);

void seat_go(struct seat *seat);

enum seat_state seat_state(const struct seat *seat);

/* Ends all that run, in whatever state; false: one does not come, said so. */
bool seat_end(struct seat *seats, size_t count);

#endif
