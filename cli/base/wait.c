// SPDX-License-Identifier: GPL-2.0-or-later
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "base/array.h"
#include "base/wait.h"

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
	return (uint64_t)now.tv_sec * WAIT_SECOND + (uint64_t)now.tv_nsec;
}

/* Also without time left: a signal that waits is taken here. */
static int nap_until(uint64_t when_ns, struct pollfd *files, nfds_t count, uint64_t *left)
{
	uint64_t now = wait_clock_ns();
	struct timespec nap;

	*left = when_ns > now ? when_ns - now : 0;
	nap = (struct timespec){ (time_t)(*left / WAIT_SECOND), (long)(*left % WAIT_SECOND) };
	return ppoll(files, count, &nap, &outside);
}

bool wait_until(uint64_t when_ns)
{
	uint64_t left = 1;

	while (!ended && left)
		nap_until(when_ns, NULL, 0, &left);
	return !ended;
}

enum wait_end wait_input(int file, uint64_t when_ns)
{
	struct pollfd input = { .fd = file, .events = POLLIN };
	uint64_t left;
	int ready = nap_until(when_ns, &input, 1, &left);

	if (ended)
		return WAIT_OVER;
	if (ready > 0)
		return WAIT_INPUT;
	return ready ? WAIT_SIGNAL : WAIT_TIME;
}
