// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quiet
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: no interrupt of any kind is counted on the CPU, ticking or not
 */
#include "quiet.h"

int main(void)
{
	struct worker *ticks = worker_new(1), *never = worker_new(1), *plain = worker_new(1);
	long long loc;

	iso_require(2);
	/* What counts zero must have been seen to count. */
	plain->plain = true;
	need_worker(worker_process(plain));
	/* Without a tick there are one or two a second. */
	loc = interrupts_more("LOC", 1, 100);
	worker_end(plain);
	ok(loc > 100, "without isolation: %lld timer interrupts in 5 s at most", loc);
	ticks->tick_ms = 10;
	ticks->spin_ns = SEC;	/* a busy host holds its CPU for longer than the usual D_spin */
	measure(ticks, "ticking");
	never->deadline_ns = 60 * SEC;
	measure(never, "never ticking");
	return done_testing();
}
