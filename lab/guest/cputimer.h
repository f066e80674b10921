/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A timer on the CPU time of another process. */
#ifndef LAB_CPUTIMER_H
#define LAB_CPUTIMER_H

#include <signal.h>
#include <time.h>
#include "trigger.h"

/*
 * Waits, at most 5 s, until @pid has used @ns more of CPU time; true if a timer
 * said so.  When it expires the kernel also looks whether anything else of that
 * process still needs to be timed.
 */
static inline bool cpu_timer_expires(int pid, long ns)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2,
	};
	struct itimerspec spec = { .it_value.tv_nsec = ns };
	struct timespec limit = { .tv_sec = 5 };
	clockid_t clock;
	timer_t timer;
	sigset_t set;
	bool expired;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	errno = clock_getcpuclockid(pid, &clock);
	need(!errno);
	need(!timer_create(clock, &event, &timer));
	need(!timer_settime(timer, 0, &spec, NULL));
	expired = sigtimedwait(&set, NULL, &limit) == SIGUSR2;
	timer_delete(timer);
	return expired;
}

#endif
