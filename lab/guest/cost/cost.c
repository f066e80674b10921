// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cost: repeats one operation in windows that the observer counts.
 *
 *	cost WHAT CPU WINDOW ROUNDS OPERATIONS [isolate]
 *
 * Each of ROUNDS windows, from number WINDOW on, holds OPERATIONS of WHAT:
 *	empty	the loop alone
 *	getpid	the shortest system call
 *	switch	one byte to another process on this CPU and back, by pipes
 *	tick	a tick with nothing due
 *	due	a tick with one cross-call due
 *	flip	a static key switched: text of every CPU is synchronised
 *	stay-none, stay, stay-looks, stay-blanks
 *		a quiet section of the kernel: lab_caller is called and does none; one; one in
 *		which it looks 1000 times whether a tick is due; 1000 empty rounds in place of that
 *	work-none, work-pair, work-message, work-look
 *		such a section of lab_traffic with 1000 rounds: empty; an object taken and given
 *		back; a message of a slot posted and received; a look at a ring with nothing
 * The windows' medians tell the cost; the timer's tick only adds to some of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <isolator.h>

#include "../machine.h"
#include "../marker.h"

MARK_WINDOW_TABLE();

static int ping[2], pong[2];
static int key = -1;
static atomic_uint asked;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cost: sched_setaffinity");
}

static void op_empty(void)
{
	__asm__ volatile("" : : : "memory");
}

static void op_getpid(void)
{
	kernel_call(SYS_getpid);
}

static void op_switch(void)
{
	char c = 0;

	if (write(ping[1], &c, 1) != 1 || read(pong[0], &c, 1) != 1)
		die("cost: pipe");
}

static void op_tick(void)
{
	isolator_tick(ISOLATOR_TICK_ALL);
}

/* Asks the helper for one cross-call, sees it become due, and ticks. */
static void op_due(void)
{
	atomic_fetch_add(&asked, 1);
	while (!isolator_due())
		;
	mark_tick_begin();
	isolator_tick(ISOLATOR_TICK_ALL);
	mark_tick_end();
}

static void op_flip(void)
{
	static int n;

	if (pwrite(key, n++ & 1 ? "0" : "1", 1, 0) != 1)
		die("cost: sched_schedstats");
}

static void order_caller(const char *text)
{
	if (pwrite(key, text, strlen(text), 0) != (ssize_t)strlen(text))
		die("cost: lab_caller");
}

static void op_stay_none(void)
{
	order_caller("none");
}

static void op_stay(void)
{
	order_caller("stay 0 0");
}

static void op_stay_looks(void)
{
	order_caller("stay 1000 0");
}

static void op_stay_blanks(void)
{
	order_caller("stay 0 1000");
}

static void op_work_none(void)
{
	order_caller("work 0 1000");
}

static void op_work_pair(void)
{
	order_caller("work 1 1000");
}

static void op_work_message(void)
{
	order_caller("work 2 1000");
}

static void op_work_look(void)
{
	order_caller("work 3 1000");
}

static void *helper(void *cpu)
{
	struct sched_param other = { 0 };
	unsigned int done = 0;

	sched_setscheduler(0, SCHED_OTHER, &other);
	pin((int)(intptr_t)cpu);
	for (;;) {
		while (atomic_load(&asked) == done)
			sched_yield();
		done++;
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	}
	return NULL;
}

static void start_partner(void)
{
	char c;

	if (pipe(ping) || pipe(pong))
		die("cost: pipe");
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(ping[0], &c, 1) == 1 && write(pong[1], &c, 1) == 1)
		;
	_exit(0);
}

static void start_helper(int cpu)
{
	pthread_t thread;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0))
		die("cost: membarrier");
	if (pthread_create(&thread, NULL, helper, (void *)(intptr_t)cpu))
		die("cost: pthread_create");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*op)(void);
	} all[] = {
		{ "empty", op_empty }, { "getpid", op_getpid }, { "switch", op_switch },
		{ "tick", op_tick }, { "due", op_due }, { "flip", op_flip },
		{ "stay-none", op_stay_none }, { "stay", op_stay },
		{ "stay-looks", op_stay_looks }, { "stay-blanks", op_stay_blanks },
		{ "work-none", op_work_none }, { "work-pair", op_work_pair },
		{ "work-message", op_work_message }, { "work-look", op_work_look },
	};
	struct sched_param fifo = { .sched_priority = 10 };
	unsigned int window, rounds, n, i, j;
	void (*op)(void) = NULL;
	bool isolate, caller;
	int cpu;

	if (argc < 6) {
		fprintf(stderr, "usage: cost WHAT CPU WINDOW ROUNDS OPERATIONS [isolate]\n"
			"example: cost getpid 1 1000 40 200\n");
		return 1;
	}
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strcmp(all[i].name, argv[1]))
			op = all[i].op;
	cpu = atoi(argv[2]);
	window = (unsigned int)atoi(argv[3]);
	rounds = (unsigned int)atoi(argv[4]);
	n = (unsigned int)atoi(argv[5]);
	isolate = argc > 6;
	if (!op) {
		fprintf(stderr, "cost: %s is not known; see cost without arguments\n", argv[1]);
		return 1;
	}
	pin(cpu);
	if (op == op_switch)
		start_partner();
	if (op == op_due)
		start_helper(cpu ? 0 : 1);
	if (op == op_flip) {
		key = open("/proc/sys/kernel/sched_schedstats", O_RDWR);
		if (key < 0)
			die("cost: sched_schedstats");
	}
	caller = !strncmp(argv[1], "stay", 4) || !strncmp(argv[1], "work", 4);
	if (caller) {
		key = open(argv[1][0] == 's' ? "/dev/lab_caller" : "/dev/lab_traffic", O_WRONLY);
		if (key < 0)
			die("cost: lab_caller or lab_traffic");
	}
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		die("cost: mlockall");
	if (op != op_switch && sched_setscheduler(0, SCHED_FIFO, &fifo))
		die("cost: sched_setscheduler");
	if (isolate) {
		int got = isolator_start(ISOLATOR_MASK_ALL);

		if (got < 0) {
			fprintf(stderr, "cost: isolator_start: %s\n", isolator_strerror(got));
			return 1;
		}
	}
	if (caller)
		order_caller("begin");
	mark_target();
	mark_probe();
	kernel_call(SYS_getpid);
	for (i = 0; i < 20; i++)	/* warm: caches, first faults, lazy set-up */
		op();
	for (j = 0; j < rounds; j++) {
		mark_window_begin(window + j);
		for (i = 0; i < n; i++)
			op();
		mark_window_end(window + j);
	}
	if (caller)
		order_caller("end");
	if (isolate)
		isolator_stop();
	return 0;
}
