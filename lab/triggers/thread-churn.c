// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: thread-churn
 * row: 10, 14
 * class: defer
 * kind: program
 * notick: yes
 * in: run
 * about: threads and processes come and go: kernel stacks are made and freed
 */
#include <pthread.h>
#include <stdatomic.h>
#include "trigger.h"

enum { ROUNDS = 10, THREADS = 16 };

static _Atomic int ran;

static void *body(void *arg)
{
	atomic_fetch_add(&ran, 1);
	return arg;
}

int main(void)
{
	int ended = 0, status;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread[THREADS];
		pid_t child = fork();

		need(child >= 0);
		if (!child)
			_exit(i);
		for (int t = 0; t < THREADS; t++) {
			errno = pthread_create(&thread[t], NULL, body, NULL);
			need(!errno);
		}
		for (int t = 0; t < THREADS; t++)
			pthread_join(thread[t], NULL);
		need(waitpid(child, &status, 0) == child);
		ended += WIFEXITED(status) && WEXITSTATUS(status) == i;
	}
	answer(ran == ROUNDS * THREADS && ended == ROUNDS, "done",
	       "%d threads and %d processes", ran, ended);
}
