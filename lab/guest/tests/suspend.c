// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: suspend
 * cpus: 2
 * kernel: isolator
 * timeout: 90
 * alone: yes
 * about: suspend ends isolation first and then works
 */
#include "../test.h"

int main(void)
{
	struct worker *w = worker_new(1), *again = worker_new(1);
	char states[64];
	uint64_t start;

	iso_require(2);
	if (get_file("/sys/power/state", states, sizeof(states)) || !strstr(states, "freeze"))
		bail_out("no suspend to idle in this kernel");
	/* Goes all the way to the devices, waits 5 s there and comes back. */
	if (put_file("/sys/power/pm_test", "devices"))
		bail_out("no pm_test in this kernel");
	w->deadline_ns = 60 * SEC;	/* and it never ticks */
	need_worker(worker_process(w));
	start = now_ns();
	ok(!put_file("/sys/power/state", "freeze"), "suspended and resumed in %lu ms",
	   (now_ns() - start) / MS);
	ok(worker_runs_on(w), "the task runs on");
	worker_tells(w);
	ok(w->end == ISOLATOR_END_SYSTEM, "its page says system: %u", w->end);
	worker_end(w);
	put_file("/sys/power/pm_test", "none");
	again->tick_ms = 10;
	if (ok(worker_process(again), "and the CPU can be isolated again"))
		worker_end(again);
	return done_testing();
}
