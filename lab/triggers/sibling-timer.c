// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: sibling-timer
 * row: 116
 * class: queue
 * kind: self
 * notick: no
 * about: a sibling thread sets timers on the CPU time of the process and of the isolated thread
 */
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include "selftrigger.h"
#include "spin.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { ROUNDS = 2, STEP_NS = 10000000 };

/* Does a timer on this clock tell us, and nobody else, that it expired? */
static bool expires(clockid_t clock)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2,
	};
	struct itimerspec spec = { .it_value.tv_nsec = STEP_NS };
	struct timespec limit = { .tv_sec = 5 };
	bool expired;
	timer_t timer;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(clock, &event, &timer))
		return false;
	expired = !timer_settime(timer, 0, &spec, NULL) &&
		sigtimedwait(&set, NULL, &limit) == SIGUSR2;
	timer_delete(timer);
	return expired;
}

/* Armed for a time that does not come, so that no signal does. */
static bool interval_timer(void)
{
	struct itimerval set = { .it_value.tv_sec = 1000 }, off = { 0 }, now;
	bool armed;

	armed = !setitimer(ITIMER_PROF, &set, NULL) && !getitimer(ITIMER_PROF, &now) &&
		now.it_value.tv_sec > 0;
	return !setitimer(ITIMER_PROF, &off, NULL) && armed &&
		!getitimer(ITIMER_PROF, &now) && !now.it_value.tv_sec;
}

static void run(struct self_answer *answer)
{
	/* As pthread_getcpuclockid() would make it: CPU time that the scheduler counts. */
	clockid_t of_thread = (clockid_t)(~(unsigned int)spin.tid << 3 | 6);
	int intervals = 0, process = 0, thread = 0;

	for (int i = 0; i < ROUNDS; i++) {
		intervals += interval_timer();
		/* Also has the kernel see that nothing is to be timed any more. */
		process += expires(CLOCK_PROCESS_CPUTIME_ID);
		thread += expires(of_thread);
	}
	self_say(answer, intervals == ROUNDS && process == ROUNDS && thread == ROUNDS,
		 "%d interval timers; %d timers of the process and %d of the thread expired, of %d",
		 intervals, process, thread, ROUNDS);
}

SELF_TRIGGER(sibling_timer, "sibling-timer", run);
