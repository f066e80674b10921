// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: clock-step
 * row: 118, 66
 * class: queue
 * kind: program
 * notick: no
 * in: run
 * about: the wall clock is stepped and slewed: timers of every CPU are told
 */
#include <sys/timex.h>
#include "trigger.h"

enum { ROUNDS = 3, DAY = 86400 };

static double wall(void)
{
	struct timespec real, mono;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (double)(real.tv_sec - mono.tv_sec) +
		(double)(real.tv_nsec - mono.tv_nsec) * 1e-9;
}

static void step(int seconds)
{
	struct timespec now;

	need(!clock_gettime(CLOCK_REALTIME, &now));
	now.tv_sec += seconds;
	need(!clock_settime(CLOCK_REALTIME, &now));
}

int main(void)
{
	struct timex tx = { .modes = ADJ_OFFSET_SINGLESHOT, .offset = 100 };
	double before;
	int moved = 0;

	/* Without a clock that runs on, time begins in 1970, before which none may be set. */
	if (wall() < DAY)
		step(DAY);
	before = wall();
	for (int i = 0; i < ROUNDS; i++) {
		step(100);
		moved += wall() - before > 99;
		step(-100);
		moved += wall() - before < 1;
	}
	need(adjtimex(&tx) >= 0);
	answer(moved == 2 * ROUNDS, "done", "%d of %d steps seen", moved, 2 * ROUNDS);
}
