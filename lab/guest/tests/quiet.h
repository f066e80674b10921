/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel counts interrupts on the CPU of an isolated task. */
#ifndef LAB_QUIET_H
#define LAB_QUIET_H

#include "../test.h"

/*
 * What its start asks for has come: of a worker that ticks nothing was due for a while.  After 10 s
 * it is measured all the same; one that never ticks has what is due to the end.
 */
static inline void settle(struct worker *w)
{
	uint64_t begin = now_ns(), seen;

	do {
		seen = w->due_seen;
		sleep_ms(300);	/* sleep: what was asked for comes at the next ticks */
	} while (w->due_seen != seen && now_ns() - begin < 10 * SEC);
	if (w->due_seen != seen)
		diag("something is due again and again");
}

static inline void measure(struct worker *w, const char *what)
{
	static const char *const rows[] = { "LOC", "RES", "CAL", "TLB", "IWI", "NMI" };
	long long before[6], all;
	uint64_t rounds;

	if (!worker_process(w)) {
		ok(false, "%s: no isolated worker", what);
		return;
	}
	settle(w);
	for (size_t i = 0; i < 6; i++)
		before[i] = interrupts(rows[i], 1);
	all = interrupts_all(1);
	rounds = w->rounds;
	sleep_ms(2000);	/* sleep: nothing comes meanwhile */
	for (size_t i = 0; i < 6; i++) {
		long long now = interrupts(rows[i], 1);

		ok(now == before[i], "%s: %s went from %lld to %lld", what, rows[i],
		   before[i], now);
	}
	all = interrupts_all(1) - all;
	ok(all == 0, "%s: %lld interrupts in 2 s", what, all);
	/* A CPU that has nothing to do is quiet, too. */
	rounds = w->rounds - rounds;
	ok(w->state == WORKER_RUNS && rounds, "%s: it went round %llu times meanwhile", what,
	   (unsigned long long)rounds);
	worker_end(w);
	ok(!w->missed, "%s: no deadline miss", what);
}

#endif
