// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: timerfd-storm
 * row: 66
 * class: exclude
 * kind: program
 * notick: yes
 * in: run
 * about: many timers fire on the housekeeping CPUs
 */
#include <sys/timerfd.h>
#include "trigger.h"

enum { TIMERS = 100 };

int main(void)
{
	struct itimerspec spec = {
		.it_interval.tv_nsec = 2000000, .it_value.tv_nsec = 2000000,
	};
	uint64_t expired = 0, once;
	int fd[TIMERS], fired = 0;

	for (int i = 0; i < TIMERS; i++) {
		fd[i] = timerfd_create(i % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 0);
		need(fd[i] >= 0 && !timerfd_settime(fd[i], 0, &spec, NULL));
	}
	usleep(100000);
	for (int i = 0; i < TIMERS; i++) {
		need(read(fd[i], &once, sizeof(once)) == sizeof(once));
		fired += once > 0;
		expired += once;
	}
	answer(fired == TIMERS, "done", "%d of %d timers, %lu expiries", fired,
	       TIMERS, expired);
}
