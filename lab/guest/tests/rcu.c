// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: rcu
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * about: grace periods and rcu_barrier end while a task is isolated that never ticks
 */
#include "grace.h"

enum { ROUNDS = 5 };

#define DEADLINE	(60 * SEC)
#define LATE		(DEADLINE / 2)	/* it has not waited for that, on the slowest host */

static void check(const char *what, bool (*wait)(void))
{
	uint64_t longest = 0;
	int done = 0;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = now_ns();

		done += wait();
		if (now_ns() - start > longest)
			longest = now_ns() - start;
	}
	ok(done == ROUNDS && longest < LATE, "%s: %d of %d, longest %lu ms", what, done,
	   ROUNDS, longest / MS);
}

int main(void)
{
	struct worker *w = worker_new(1);

	iso_require(4);
	w->deadline_ns = DEADLINE;
	need_worker(worker_process(w));
	check("synchronize_rcu", grace_period);
	check("expedited, by mounts", grace_expedited);
	check("rcu_barrier, by isolating another CPU", ask_rcu_barrier);
	worker_tells(w);
	if (!ok(!w->missed, "no deadline miss: %lu", w->missed))
		show_deliveries();
	ok(w->end == ISOLATOR_END_NONE, "still isolated");
	worker_end(w);
	return done_testing();
}
