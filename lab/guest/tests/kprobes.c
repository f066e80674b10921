// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: kprobes
 * cpus: 2
 * kernel: isolator
 * timeout: 600
 * alone: yes
 * about: 200 kprobes come and go beside an isolated task: 0 entries
 * observe: 1 any 0
 */
#include "probe.h"
#include "../machine.h"
#include "windows.h"

MARK_WINDOW_TABLE();

/* Nobody makes this call. */
#ifdef __x86_64__
#define CHURNED	"__x64_sys_sched_get_priority_min+5"
#else
#define CHURNED	"__arm64_sys_sched_get_priority_min"
#endif

enum { SPINS = 1, OVER, PROBES = 200 };

static void follow(struct worker *w)
{
	unsigned int now = window_turn(OVER);

	(void)w;
	if (now)
		window = now;
}

int main(void)
{
	struct probe_counts beside = { 0 };
	struct worker *w = worker_new(1);
	int done;

	iso_require(2);
	/* The first event makes the buffers of the trace, by work on each CPU. */
	if (!probe_begin("p", "first", CHURNED))
		bail_out("no probe at " CHURNED);
	probe_end("first");
	w->each = follow;
	/* Both longer than any kernel takes. */
	w->deadline_ns = 1000 * SEC;
	w->spin_ns = SEC;
	w->life_s = 2000;
	need_worker(worker_thread(w));

	window_go(SPINS);
	done = probe_churn(CHURNED, PROBES, &beside);
	ok(done == PROBES, "%d probes came and went beside user mode", done);
	if (!ok(!w->iso.page->missed && !w->iso.page->immediate,
		"no stop was delivered there: %llu misses, %llu immediate", w->iso.page->missed,
		w->iso.page->immediate))
		show_deliveries();
	ok(!beside.hits && !beside.misses, "nobody else calls it");
	window_go(OVER);
	worker_end(w);
	return done_testing();
}
