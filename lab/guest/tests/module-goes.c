// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: module-goes
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * once: yes
 * alone: yes
 * about: a module, or its begin, goes only once the calls that it left with an isolated CPU are taken
 */
#include "caller.h"
#include "scftorture.h"

/* A call of a function that is freed as soon as the module has begun. */
static void begin_goes(struct worker *w)
{
	w->tick_ms = 500;
	worker_tells(w);
	caller_load("lab_waits", "begin_on=3");
	sleep_ms(100);	/* sleep: the memory is freed after a grace period, by a worker */
	ok(worker_runs_on(w), "the isolated task ticks after a module has begun");
	worker_tells(w);
	ok(w->end == ISOLATOR_END_NONE, "and is still isolated");
	ok(module_unload("lab_waits"), "the module goes");
	w->tick_ms = 0;
}

int main(void)
{
	struct worker *w = worker_new(3);

	iso_require(4);
	w->deadline_ns = 60 * SEC;
	w->spin_ns = SEC;
	if (!worker_process(w) || iso_pin(2))
		bail_out("no isolated worker");
	begin_goes(w);
	/* Calls of functions of its own that nobody waits for; one more when it goes. */
	scftorture_begin(w);
	ok(!system("modprobe -r scftorture"), "the module goes");
	/* Where its text was, that the CPU would have called, is nothing now. */
	ok(worker_tick(w, 5000), "the isolated task ticks");
	ok(w->end == ISOLATOR_END_NONE, "still isolated");
	worker_end(w);
	return done_testing();
}
