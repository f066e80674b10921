// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: rcu-leaf
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * append: rcutree.rcu_fanout_leaf=2
 * about: an expedited grace period waits for no CPU where all CPUs of a leaf of RCU's are isolated
 */
#include "grace.h"

enum { ROUNDS = 5 };

int main(void)
{
	struct worker *w[2] = { worker_new(0), worker_new(1) };
	int done = 0;

	iso_require(4);
	put_file("/proc/isolator/cpus", "0-1");
	put_file(GRACE_NORMAL, "0");
	if (iso_pin(3) || put_file("/sys/kernel/rcu_expedited", "1"))
		bail_out("no expedited grace periods");
	for (int i = 0; i < 2; i++) {
		w[i]->deadline_ns = 60 * SEC;
		need_worker(worker_process(w[i]));
	}
	for (int i = 0; i < ROUNDS; i++)
		done += grace_expedited();
	ok(done == ROUNDS, "%d of %d expedited grace periods", done, ROUNDS);
	for (int i = 0; i < 2; i++) {
		worker_tells(w[i]);
		if (!ok(!w[i]->missed, "no deadline miss on CPU %d: %lu", i, w[i]->missed))
			show_deliveries();
		worker_end(w[i]);
	}
	put_file("/sys/kernel/rcu_expedited", "0");
	return done_testing();
}
