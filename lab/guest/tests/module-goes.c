// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: module-goes
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * once: yes
 * alone: yes
 * about: a module goes only after the calls that it left with an isolated CPU have been taken
 */
#include "scftorture.h"

int main(void)
{
	struct worker *w = worker_new(3);

	iso_require(4);
	w->deadline_ns = 60 * SEC;
	w->spin_ns = SEC;
	if (!worker_process(w) || iso_pin(2))
		bail_out("no isolated worker");
	/* Calls of functions of its own that nobody waits for; one more when it goes. */
	scftorture_begin(w);
	ok(!system("modprobe -r scftorture"), "the module goes");
	/* Where its text was, that the CPU would have called, is nothing now. */
	ok(worker_tick(w, 5000), "the isolated task ticks");
	ok(w->end == ISOLATOR_END_NONE, "still isolated");
	worker_end(w);
	return done_testing();
}
