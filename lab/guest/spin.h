/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spinning thread, as the thread that serves commands sees it. */
#ifndef LAB_SPIN_H
#define LAB_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/isolator.h>

#define SPIN_STACK	(256 * 1024)

struct spin_options {
	int cpu;
	bool fifo;
	int prio;
	bool isolate;
	double tick_ms;
	double deadline_ms;	/* 0: the kernel's default */
	double spin_ms;		/* 0: the kernel's default */
	double yield_ms;	/* 0: the kernel's default */
};

enum spin_command { SPIN_NONE, SPIN_BEGIN, SPIN_END, SPIN_PROBE, SPIN_CONTROL, SPIN_QUIT };

/* What the spinning thread counts, all in user mode. */
struct spin_count {
	uint64_t cycles;
	uint64_t loops;
	uint64_t ticks;		/* looked at the due word */
	uint64_t ticks_due;	/* and found something: entered the kernel */
	uint64_t tick_errors;
	uint64_t page[8];	/* ticks queued deferred excluded missed immediate yields */
};

/*
 * Shared by the two threads; commands go one way as a number that the spinning
 * thread answers by copying it to done, so that it never has to make a call.
 */
struct spin_shared {
	struct spin_options opt;
	_Atomic uint32_t asked, done;
	enum spin_command command;
	unsigned int window;
	unsigned int breakpoints;	/* of the control */
	bool notick;
	uint64_t tick_cycles;	/* tick period in cycles() */
	uint64_t cycles_hz;
	struct spin_count now, begin;
	_Atomic uint64_t signals;	/* handlers that ran in the spinning thread */
	_Atomic int state;		/* 0 starting, 1 spinning, -errno failed, 2 over */
	const char *failed;		/* the call that failed */
	pid_t tid;
	const struct isolator_page *page;
	struct isolator_start_args start;
	_Atomic(const volatile char *) look;	/* the loop reads here when set */
	volatile char seen;
};

extern struct spin_shared spin;

/* Starts the thread that fills the CPU; returns 0 or -errno, see spin.failed. */
int spin_start(void);
/* Gives it a command and waits for the answer; false: none within timeout_s. */
bool spin_do(enum spin_command command, double timeout_s);

#endif
