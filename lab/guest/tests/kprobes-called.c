// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kprobes-called
 * cpus: 2
 * kernel: isolator
 * timeout: 600
 * alone: yes
 * about: 200 kprobes come and go amid 10^5 calls of an isolated task: hits and misses add up
 *
 * No observer looks on: after a breakpoint that only QEMU executed (lab/observer/stale.c) the
 * guest is repeated with one thread, which executes none.
 */
#include "../machine.h"
#include "kprobes.h"

enum { CALLED = 100000, ROUNDS = 100, SELDOM = 10, PAUSE = 20000 };

static _Atomic bool over;
static _Atomic long called;

/*
 * A breakpoint goes by one store, right before which QEMU drops what it translated there: a CPU
 * that comes by in between translates the breakpoint once more, and keeps it.  So the place that
 * breakpoints leave is passed seldom, the other one all the time.
 */
static void call_both(struct worker *w)
{
	(void)w;
	if (over)
		return;
	for (int i = 0; i < ROUNDS; i++) {
		for (int n = 0; n < PAUSE; n++)
			asm volatile("");
		kernel_call(SYS_sched_get_priority_max);
		if (i % SELDOM == 0)
			kernel_call(SYS_sched_get_priority_min);
	}
	called += ROUNDS;
}

int main(void)
{
	/* With PREEMPT_RT RCU has a thread on this CPU, and the end of a probe waits for it. */
	struct worker *w = kprobes_worker(call_both, 5);
	struct probe_counts amid = { 0 }, counted;

	until(called);
	kprobes_churn("amid calls", &amid);
	until(called >= CALLED);
	over = true;
	/* By then a round has seen it. */
	worker_tells(w);
	counted = probe_counts("counted");
	ok(counted.hits + counted.misses == called, "%ld calls: %ld hits and %ld misses", called,
	   counted.hits, counted.misses);
	ok(amid.hits > 0 && amid.hits + amid.misses <= called,
	   "those that came and went: %ld hits, %ld misses", amid.hits, amid.misses);
	/* A stop that finds the task in the kernel four times stops it like others, where it is. */
	diag("amid calls %llu stops were delivered", w->iso.page->immediate);
	if (!ok(!w->iso.page->missed, "no deadline miss: %llu", w->iso.page->missed))
		show_deliveries();
	return kprobes_end(w);
}
