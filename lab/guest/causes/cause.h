/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cause that the program `inject` makes at the measured CPU, once, of a stated size.
 * CAUSE() is all that a file beside this one needs to be found.
 */
#ifndef LAB_CAUSE_H
#define LAB_CAUSE_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Whom it is aimed at. */
struct aim {
	int cpu;		/* the measured CPU */
	int other;		/* where inject itself runs */
	pid_t pid, tid;		/* the measured process, and its thread that fills the CPU */
};

/* What really happened, for whoever judges what was named. */
struct truth {
	uint64_t from_ns, to_ns;	/* CLOCK_MONOTONIC */
	bool happened;			/* the cause's own evidence says so */
	char evidence[256];		/* members of a JSON object */
};

/*
 * prepare() and restore() disturb the measured CPU as little as they can, and stand
 * outside of what is judged; inject() sets @truth.  Each returns 0 or a negative error;
 * restore() is called however the others ended, and leaves the guest as it was.
 */
struct cause {
	const char *name;
	const char *unit;		/* of the size */
	int (*prepare)(const struct aim *aim, long size);
	int (*inject)(const struct aim *aim, long size, struct truth *truth);
	void (*restore)(const struct aim *aim);
};

#define CAUSE(id, text, of, first, second, last)			\
	static const struct cause cause_##id				\
	__attribute__((used, section("causes"), aligned(8))) = {	\
		.name = text, .unit = of, .prepare = first,		\
		.inject = second, .restore = last,			\
	}

extern const struct cause __start_causes[], __stop_causes[];

uint64_t now_ns(void);
void sleep_until(uint64_t ns);
/* Busy until then, whoever else wants the CPU. */
void spin_until(uint64_t ns);

/* The thread @tid (0: this one) runs on @cpu alone; 0 or a negative error. */
int pin(pid_t tid, int cpu);
/* This thread is FIFO of @priority, or with 0 an ordinary one. */
int set_fifo(int priority);

/* 0 or a negative error. */
int file_put(const char *path, const char *text);
/* The number that @path begins with, or -1. */
long file_number(const char *path);
/* The counter of @cpu in the line of /proc/interrupts named @name, or -1: "5:", "CAL:". */
long interrupts(const char *name, int cpu);

#endif
