/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an isolation must leave as it was: timers, the tick, affinities, the fair server. */
#ifndef LAB_RESIDUE_H
#define LAB_RESIDUE_H

#include <dirent.h>
#include "../test.h"
#include "timer_list.h"

/*
 * Timer interrupts a second of a CPU whose tick of 1000 Hz runs, whatever else the
 * host does; without a tick it is one or two.
 */
enum { TICK_LEAST = 20, TICK_MOST = 3000 };

#define SERVER	"/sys/kernel/debug/sched/fair_server/cpu%d/runtime"

/* What must be afterwards as it was before. */
struct residue {
	char affinities[8192];
	char server[64];
	char watchdog[64];
	bool tick, lockup, isolator;	/* which of these timers were seen */
	long long loc;		/* timer interrupts a second of the CPU, busy */
	bool fair;		/* an ordinary task gets on beside a FIFO one there */
};

static inline void affinities(char *text, size_t size)
{
	DIR *dir = opendir("/proc/irq");
	struct dirent *entry;
	size_t used = 0;

	text[0] = 0;
	while (dir && (entry = readdir(dir))) {
		char path[300], mask[64];

		snprintf(path, sizeof(path), "/proc/irq/%s/smp_affinity_list", entry->d_name);
		if (!get_file(path, mask, sizeof(mask)) && used < size - 100)
			used += (size_t)snprintf(text + used, size - used, "%s=%s",
						 entry->d_name, mask);
	}
	if (dir)
		closedir(dir);
}

/* The fair server of a CPU lets an ordinary task run beside the FIFO one. */
static inline bool fair_runs(int cpu)
{
	_Atomic uint64_t *rounds = shared_memory(4096);
	pid_t pid = fork();
	bool runs;

	if (!pid) {
		iso_pin(cpu);
		for (;;)
			++*rounds;
	}
	runs = wait_for(rounds, 1, 5000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(rounds, 4096);
	return runs;
}

static inline void look(struct residue *r, int cpu)
{
	struct worker *plain = worker_new(cpu);
	char server[80];
	uint64_t began;

	memset(r, 0, sizeof(*r));
	affinities(r->affinities, sizeof(r->affinities));
	snprintf(server, sizeof(server), SERVER, cpu);
	get_file(server, r->server, sizeof(r->server));
	get_file("/proc/sys/kernel/watchdog", r->watchdog, sizeof(r->watchdog));
	plain->plain = true;
	need_worker(worker_process(plain));
	began = now_ns();
	r->loc = interrupts("LOC", cpu);
	sleep_ms(500);	/* sleep: a rate is what comes in some time */
	/* A sleep may last longer, where the host has other things to do. */
	r->loc = (interrupts("LOC", cpu) - r->loc) * (long long)SEC /
		 (long long)(now_ns() - began);
	r->tick = timer_active("tick_nohz_handler", cpu) || timer_active("tick_sched_timer", cpu);
	r->lockup = timer_active("watchdog_timer_fn", cpu);
	r->isolator = timer_active("isolator", -1);
	r->fair = fair_runs(cpu);
	worker_end(plain);
}

static inline void compare(const struct residue *a, const struct residue *b, const char *when)
{
	if (!ok(!strcmp(a->affinities, b->affinities), "%s: interrupt affinities are as before",
		when))
		diag("before: %s\nafter: %s", a->affinities, b->affinities);
	ok(a->fair && b->fair && !strcmp(a->server, b->server),
	   "%s: the fair server runs, with its old runtime", when);
	ok(!strcmp(a->watchdog, b->watchdog) && a->lockup == b->lockup,
	   "%s: a lockup watchdog's timer: %d, was %d", when, b->lockup, a->lockup);
	ok(b->tick && b->loc > TICK_LEAST && b->loc < TICK_MOST,
	   "%s: the tick runs, its timer %d, %lld timer interrupts a second, were %lld",
	   when, b->tick, b->loc, a->loc);
	ok(!b->isolator, "%s: no timer of Isolator's is left", when);
	ok(file_has("/proc/isolator/status", "isolated \n", NULL), "%s: no CPU is isolated", when);
}

#endif
