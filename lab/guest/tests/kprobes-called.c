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
#include "probe.h"
#include "../machine.h"
#include "../test.h"

/*
 * Nobody else makes these calls.  On x86 a probe at the entry proper is one of ftrace's call, and
 * has no copy of an instruction: a breakpoint of ftrace's that QEMU executes when it is gone is
 * taken for the probe's, and the kernel jumps to address 0.  Behind that call stands a breakpoint
 * of the probe's own, soon a jump.
 */
#ifdef __x86_64__
#define COUNTED	"__x64_sys_sched_get_priority_max+5"
#define CHURNED	"__x64_sys_sched_get_priority_min+5"
#else
#define COUNTED	"__arm64_sys_sched_get_priority_max"
#define CHURNED	"__arm64_sys_sched_get_priority_min"
#endif

enum { PROBES = 200, CALLED = 100000, ROUNDS = 100, SELDOM = 10, PAUSE = 20000 };

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
	struct probe_counts amid = { 0 }, counted;
	struct worker *w = worker_new(1);
	int done;

	iso_require(2);
	if (!probe_begin("p", "counted", COUNTED))
		bail_out("no probe at " COUNTED);
	w->each = call_both;
	/* With PREEMPT_RT RCU has a thread on this CPU, and the end of a probe waits for it. */
	w->tick_ms = 5;
	/* Both longer than any kernel takes. */
	w->deadline_ns = 1000 * SEC;
	w->spin_ns = SEC;
	w->life_s = 2000;
	need_worker(worker_thread(w));

	until(called);
	done = probe_churn(CHURNED, PROBES, &amid);
	ok(done == PROBES, "%d probes came and went amid calls", done);
	until(called >= CALLED);
	over = true;
	/* By then a round has seen it. */
	worker_tells(w);
	counted = probe_counts("counted");
	ok(counted.hits + counted.misses == called, "%ld calls: %ld hits and %ld misses", called,
	   counted.hits, counted.misses);
	ok(amid.hits > 0 && amid.hits + amid.misses <= called,
	   "those that came and went: %ld hits, %ld misses", amid.hits, amid.misses);
	/* A stop that finds the task in the kernel four times stops it like others, wherever it is. */
	diag("amid calls %llu stops were delivered", w->iso.page->immediate);
	if (!ok(!w->iso.page->missed, "no deadline miss: %llu", w->iso.page->missed))
		show_deliveries();
	worker_end(w);
	probe_end("counted");
	return done_testing();
}
