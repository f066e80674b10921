// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-thread-exit
 * row: 17
 * class: queue
 * kind: self
 * notick: no
 * about: sibling threads start and end: their stacks are mapped and unmapped
 */
#include <stdatomic.h>
#include "selftrigger.h"

enum { ROUNDS = 3, THREADS = 3, SIZE = 64 * 1024 };

static _Atomic int ran;

static void *body(void *arg)
{
	atomic_fetch_add(&ran, 1);
	return arg;
}

/* On a stack of its own, as the C library would keep those that it makes. */
static bool start(pthread_t *thread, void **stack)
{
	pthread_attr_t attr;
	bool started;

	*stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (*stack == MAP_FAILED)
		return false;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, *stack, SIZE);
	started = !pthread_create(thread, &attr, body, NULL);
	pthread_attr_destroy(&attr);
	if (!started)
		munmap(*stack, SIZE);
	return started;
}

static void run(struct self_answer *answer)
{
	int ended = 0;

	atomic_store(&ran, 0);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread[THREADS];
		void *stack[THREADS];
		int started = 0;

		while (started < THREADS && start(&thread[started], &stack[started]))
			started++;
		for (int t = 0; t < started; t++) {
			ended += !pthread_join(thread[t], NULL);
			munmap(stack[t], SIZE);
		}
	}
	self_say(answer, ran == ROUNDS * THREADS && ended == ROUNDS * THREADS,
		 "%d threads ran and %d ended, of %d", ran, ended, ROUNDS * THREADS);
}

SELF_TRIGGER(sibling_thread_exit, "sibling-thread-exit", run);
