/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread that sends triggers and sees answers.  It has a CPU for itself while triggers
 * run, never waits for anybody, and hears of wishes through a queue.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "book.h"
#include "lines.h"
#include "schedule.h"
#include "settings.h"

#define CAPTURE_PEERS 16	/* targets whose doorbell is rung */
#define CAPTURE_ORDERS 64u

enum order_type {
	ORDER_SETTINGS,		/* settings */
	ORDER_START,		/* number: triggers, 0 until ORDER_STOP; settings */
	ORDER_STOP,
	ORDER_CALIBRATE,	/* number: rounds */
	ORDER_PEER,		/* number: its id; file: its doorbell, the taker's from now on */
	ORDER_NO_PEER,		/* number: its id */
	ORDER_QUIT,
};

struct order {
	enum order_type type;
	int file;
	uint64_t number;
	struct settings settings;
};

/* How the generator stands, as the thread has it. */
struct capture_state {
	struct settings settings;
	uint64_t triggers;	/* closed */
	uint64_t lost;
	struct book_line lines[SCOPE_LINES_MAX];
	bool running;
};

/* What it is when it measures itself; all in ns. */
struct floor_result {
	uint32_t rounds;	/* 0: it could not */
	uint64_t resolution;
	uint64_t loopback_p50, loopback_p99, loopback_max;
	uint64_t jitter_p50, jitter_p99, jitter_max;
};

struct peer {
	uint64_t id;
	int doorbell;
};

struct capture {
	struct scope_lines *lines;
	uint64_t begin_ns;	/* where the generator's clock is 0 */
	int cpu;		/* -1: anywhere */
	int wake;		/* eventfd: an order was given */

	/* Between the threads. */
	struct order orders[CAPTURE_ORDERS];
	uint32_t orders_given, orders_taken;
	uint32_t state_wanted, state_given;
	struct capture_state state;
	uint32_t floors;	/* calibrations done */
	struct floor_result floor;
	bool active;		/* triggers run */
	bool busy;		/* they do, or wait for answers */
	bool start_given;	/* the last order of its kind was START; the other thread's own */
	uint32_t start_number;	/* how many orders were given with it, the same */

	/* The thread's own. */
	pthread_t thread;
	struct settings settings;
	struct schedule schedule;
	struct lines_reader readers[SCOPE_LINES_MAX];
	struct peer peers[CAPTURE_PEERS];
	unsigned int nr_peers;
	uint32_t mask;		/* lines that are expected to answer */
	uint32_t watched;	/* lines that are looked at each time */
	uint32_t passes;
	uint64_t left;		/* triggers to be sent; UINT64_MAX: no end */
	uint64_t fall_ns;	/* when the trigger line falls; 0: it is low */
	uint64_t looked_ns;	/* when all lines had been looked at */
	uint64_t unsure_ns;	/* a longer pause than that makes a time unsure */
	bool running;
	struct book *book;
	struct ring *ring;
};

/*
 * Prepares; @lines are taken over.  The memory of @book and @ring is the caller's and
 * given to the thread.
 */
void capture_init(struct capture *capture, struct scope_lines *lines, struct book *book,
		  struct ring *ring);

/* One look at everything, and whatever is due.  Returns when it was, on CLOCK_MONOTONIC. */
uint64_t capture_pass(struct capture *capture);

/* The thread itself, a struct capture *; ends with ORDER_QUIT. */
void *capture_thread(void *capture);

/* For the other thread.  How many orders may be given, and one of them. */
unsigned int capture_room(const struct capture *capture);
void capture_order(struct capture *capture, const struct order *order);

/* For the other thread: asks for the state; capture_state_ready() once it is there. */
void capture_ask(struct capture *capture);
bool capture_state_ready(const struct capture *capture);

/*
 * For the other thread, with the orders that it gave.  Not busy: all records are in the
 * ring.
 */
bool capture_running(const struct capture *capture);
bool capture_busy(const struct capture *capture);
uint32_t capture_floors(const struct capture *capture);

/* From now on a pause is told from the loop's own by that calibration. */
void capture_trust(struct capture *capture, const struct floor_result *result);

/* As if START had come; for the thread itself and for who has none. */
void capture_start(struct capture *capture, const struct settings *settings, uint64_t triggers);

#endif
