// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: always
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: an NMI is delivered at once and leaves the task isolated
 */
#include "../test.h"

int main(void)
{
	struct worker *w = worker_new(1);
	long long before;
	uint64_t start;

	iso_require(2);
	w->deadline_ns = 60 * SEC;
	need_worker(worker_process(w));
	before = interrupts("NMI", 1);
	start = now_ns();
	ok(!put_file("/proc/sysrq-trigger", "l"), "backtraces of all CPUs are asked for");
	/* Half of the deadline: a console may be slow. */
	ok(now_ns() - start < 30 * SEC, "and are there after %lu ms", (now_ns() - start) / MS);
	ok(interrupts("NMI", 1) > before, "the isolated CPU took %lld NMI",
	   interrupts("NMI", 1) - before);
	worker_tells(w);
	ok(w->end == ISOLATOR_END_NONE && !w->missed, "it is still isolated, no deadline miss");
	before = interrupts_all(1);
	sleep_ms(500);	/* sleep: nothing comes meanwhile */
	ok(interrupts_all(1) == before, "and quiet: %lld interrupts in 0.5 s",
	   interrupts_all(1) - before);
	worker_end(w);
	return done_testing();
}
