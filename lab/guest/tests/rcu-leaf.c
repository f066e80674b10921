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

static struct worker *isolate(int cpu)
{
	struct worker *w = worker_new(cpu);

	w->deadline_ns = 60 * SEC;
	need_worker(worker_process(w));
	return w;
}

static void rounds(const char *where)
{
	int done = 0;

	for (int i = 0; i < ROUNDS; i++)
		done += grace_expedited();
	ok(done == ROUNDS, "%d of %d expedited grace periods, %s", done, ROUNDS, where);
}

static void undisturbed(struct worker *w)
{
	worker_tells(w);
	if (!ok(!w->missed, "no deadline miss on CPU %d: %lu", w->cpu, w->missed))
		show_deliveries();
	worker_end(w);
}

int main(void)
{
	struct worker *w[2], *other;

	iso_require(4);
	put_file("/proc/isolator/cpus", "0-3");
	put_file(GRACE_NORMAL, "0");
	if (iso_pin(2) || put_file("/sys/kernel/rcu_expedited", "1"))
		bail_out("no expedited grace periods");
	/* When the first leaf is isolated, its threads may go to one CPU only: that is next. */
	other = isolate(3);
	w[0] = isolate(0);
	w[1] = isolate(1);
	rounds("a leaf isolated");
	worker_end(other);
	if (iso_pin(3))
		bail_out("no CPU 3");
	other = isolate(2);
	rounds("and all but a CPU of the other");
	undisturbed(other);
	undisturbed(w[0]);
	undisturbed(w[1]);
	put_file("/sys/kernel/rcu_expedited", "0");
	return done_testing();
}
