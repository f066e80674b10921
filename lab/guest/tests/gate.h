/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine is stopped beside a task that never enters the kernel, or all the time. */
#ifndef LAB_GATE_H
#define LAB_GATE_H

#include <stdio.h>
#include "clocks.h"

#define STOPS	"/proc/isolator/stops"
#define CPU3	"/sys/devices/system/cpu/cpu3/online"

struct stops {
	unsigned int stops, reads, halfway, stale;
};

static inline struct stops stops_seen(void)
{
	struct stops seen;
	char text[128];

	if (get_file(STOPS, text, sizeof(text)) ||
	    sscanf(text, "stops %u reads %u halfway %u stale %u", &seen.stops, &seen.reads,
		   &seen.halfway, &seen.stale) != 4)
		bail_out(STOPS);
	return seen;
}

static inline void stops_require(void)
{
	if (access(STOPS, F_OK))
		bail_out("no " STOPS ": wants CONFIG_ISOLATOR_FLOOD");
}

/*
 * Runs kernel code that a stop must not meet halfway; data is the open file.  Then it is in
 * user mode for as long, whatever the kernel: a stop leaves out only whom it finds there.
 */
static inline void stops_look(struct worker *w)
{
	uint64_t before = now_ns(), after;
	char text[128];

	if (pread(*(int *)w->data, text, sizeof(text), 0) < 0)
		w->stop = true;
	after = now_ns();
	while (now_ns() - after < after - before)
		;
}

/* So many stops beside such a task; what was seen meanwhile. */
static inline struct stops stops_beside(const char *number)
{
	int fd = open(STOPS, O_RDONLY | O_CLOEXEC);
	struct worker *w = worker_new(1);
	struct stops before, after;

	if (fd < 0)
		bail_out(STOPS);
	w->data = &fd;
	w->each = stops_look;
	w->deadline_ns = 60 * SEC;
	w->spin_ns = SEC;
	need_worker(worker_thread(w));
	before = stops_seen();
	if (put_file(STOPS, number))
		bail_out("stopping the machine");
	after = stops_seen();
	worker_end(w);
	close(fd);
	after.stops -= before.stops;
	after.reads -= before.reads;
	after.halfway -= before.halfway;
	after.stale -= before.stale;
	diag("%u stops, %u looks, %u halfway, %u stale", after.stops, after.reads, after.halfway,
	     after.stale);
	return after;
}

/* All of these: none reaches the task, each is done. */
static inline void alone(struct worker *spins, const char *what, bool (*once)(int n), int rounds)
{
	uint64_t excluded = spins->iso.page->excluded;
	long long before = interrupts_all(1);
	int done = 0;

	while (done < rounds && once(done))
		done++;
	ok(done == rounds, "%s: %d of %d", what, done, rounds);
	excluded = spins->iso.page->excluded - excluded;
	if (!ok(interrupts_all(1) == before && !spins->iso.page->immediate &&
		!spins->iso.page->missed, "none interrupted the task: %lld interrupts",
		interrupts_all(1) - before))
		show_deliveries();
	ok(excluded >= (uint64_t)rounds, "it was left out of %lu", excluded);
}

static inline bool hotplug(int n)
{
	(void)n;
	return !put_file(CPU3, "0") && !put_file(CPU3, "1");
}

static inline bool stop_once(int n)
{
	(void)n;
	return !put_file(STOPS, "1");
}

static inline bool switch_clock(int n)
{
	char now[32] = "";

	return !put_file(CLOCKS "current_clocksource", clocks[!(n & 1)]) &&
	       !get_file(CLOCKS "current_clocksource", now, sizeof(now)) &&
	       !strncmp(now, clocks[!(n & 1)], strlen(clocks[!(n & 1)]));
}

/* For faults: such stops until one is seen to fail.  A host may have no time for the task. */
static inline bool stops_hold(void)
{
	for (int batch = 0; batch < 10; batch++) {
		struct stops seen = stops_beside("50");

		if (seen.halfway || seen.stale)
			return false;
	}
	return true;
}

/* A task that never ticks, and three kinds of stops beside it. */
static inline struct worker *stops_alone(int hotplugs, int switches, int stops)
{
	struct worker *spins = worker_new(1);

	/* Both longer than any kernel takes: it never ticks, and is told when to end. */
	spins->deadline_ns = 3600 * SEC;
	spins->spin_ns = SEC;
	spins->life_s = 3600;
	need_worker(worker_thread(spins));
	alone(spins, "a CPU goes and comes", hotplug, hotplugs);
	if (two_clocks())
		alone(spins, "the clocksource changes", switch_clock, switches);
	else
		diag("there is one clocksource only");
	alone(spins, "the machine is stopped", stop_once, stops);
	return spins;
}

#endif
