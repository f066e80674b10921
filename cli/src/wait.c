// SPDX-License-Identifier: GPL-2.0-or-later
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "array.h"
#include "wait.h"

#define SECOND UINT64_C(1000000000)

static volatile sig_atomic_t ended;
static sigset_t outside;	/* the mask while asleep: the signals come only there */

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

void wait_prepare(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = end }, old;
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		/* nohup(1) means it; SIGINT is ignored in every script's background job. */
		sigaction(signals[i], NULL, &old);
		if (signals[i] == SIGHUP && old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
		sigaddset(&blocked, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, &outside);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigdelset(&outside, signals[i]);
}

uint64_t wait_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

bool wait_until(uint64_t when_ns)
{
	while (!ended) {
		uint64_t now = wait_clock_ns(), left = when_ns > now ? when_ns - now : 0;
		struct timespec nap = { (time_t)(left / SECOND), (long)(left % SECOND) };

		/* Also without time left: a signal that waits is taken here. */
		ppoll(NULL, 0, &nap, &outside);
		if (!left)
			break;
	}
	return !ended;
}
