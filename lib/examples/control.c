// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A control loop of 1 kHz: once a millisecond it reads a position, computes, and sets
 * a force.  Everything that may fault or wait is done before it; isolated it spins for
 * its next period, else it sleeps until then.  Where isolation ends by itself it goes on
 * as an ordinary loop, and says so at the end.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sys/mman.h>

#include "example.h"

#define PERIOD_NS	1000000ULL
#define PERIODS		1000U

struct plant {
	double position;
	double speed;
};

static double log_of_positions[PERIODS];
static uint64_t late_ns[PERIODS];

/* Stands for the device: a mass that is pushed for one period. */
static void push(struct plant *plant, double force)
{
	plant->speed += force * 1e-3;
	plant->position += plant->speed * 1e-3;
}

/* Isolated: no system call, and a tick when somebody waits for one. */
static uint64_t wait_until(uint64_t when_ns, int *isolated)
{
	struct timespec at = {
		.tv_sec = (time_t)(when_ns / 1000000000U),
		.tv_nsec = (long)(when_ns % 1000000000U),
	};
	uint64_t now;

	if (!*isolated)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	while ((now = example_now_ns()) < when_ns)
		if (*isolated && isolator_tick(TICK_ALL) == -ECANCELED)
			*isolated = 0;
	return now;
}

int main(void)
{
	struct plant plant = { .position = 0.0 };
	struct example_usage before, after;
	uint64_t next, worst = 0;
	int started, isolated;

	example_pin();
	if (mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
		printf("memory is not locked: raise RLIMIT_MEMLOCK (ulimit -l)\n");
	/* Locked or not: the first touch is made here, not in the loop. */
	for (unsigned int i = 0; i < PERIODS; i++)
		log_of_positions[i] = late_ns[i] = 0;
	started = isolated = example_isolate();

	/* One round for the code itself: a lazy binding or a page of text is a fault, too. */
	next = wait_until(example_now_ns() + PERIOD_NS, &isolated);
	before = example_used();
	for (unsigned int i = 0; i < PERIODS; i++) {
		next += PERIOD_NS;
		late_ns[i] = wait_until(next, &isolated) - next;
		push(&plant, 100.0 * (1.0 - plant.position) - 20.0 * plant.speed);
		log_of_positions[i] = plant.position;
	}
	after = example_used();
	if (started && !isolated)
		printf("isolation ended by itself: %s\n", isolator_strend(isolator_page()->end));
	if (started)
		isolator_stop();

	for (unsigned int i = 0; i < PERIODS; i++)
		worst = late_ns[i] > worst ? late_ns[i] : worst;
	printf("%u periods, at most %.1f us late; %ld page faults, pre-empted %ld times; position %.3f\n",
	       PERIODS, (double)worst / 1000.0, after.faults - before.faults,
	       after.switches - before.switches, log_of_positions[PERIODS - 1]);
	if (after.faults != before.faults)
		fprintf(stderr, "something in the loop touched memory for the first time\n");
	return after.faults == before.faults && fabs(plant.position - 1.0) < 0.01 ? 0 : 1;
}
