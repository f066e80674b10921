// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: timer-idle
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * append: nohz_full=1
 * about: a timer that is put on an isolated CPU of nohz_full= whose task sleeps runs in time
 */
#include "../modules.h"
#include "../test.h"

#define TIMER	"/sys/module/lab_waits/parameters/timer"

enum { ROUNDS = 10 };

static int pipes[2];
static _Atomic bool sleeps, over;

static void sleeper(struct worker *w)
{
	char byte;

	if (over)
		return;
	sleeps = true;
	if (read(pipes[0], &byte, 1) != 1)
		w->error = -EIO;
	sleeps = false;
}

int main(void)
{
	struct worker *w = worker_new(1);
	uint64_t longest = 0;
	int i, late = 0;

	iso_require(2);
	if (!file_has("/sys/devices/system/cpu/nohz_full", "1", NULL))
		bail_out("nohz_full=1 did not take");
	if (!module_load("lab_waits"))
		bail_out("no module lab_waits: it comes with kernel/build");
	if (pipe(pipes))
		bail_out("pipe");
	w->each = sleeper;
	w->deadline_ns = 60 * SEC;
	need_worker(worker_thread(w));
	for (i = 0; i < ROUNDS; i++) {
		uint64_t began;

		until(sleeps);
		sleep_ms(200);	/* sleep: nobody tells when the CPU's tick has stopped */
		began = now_ns();
		if (put_file(TIMER, "1"))
			bail_out(TIMER);
		late += !comes(file_has(TIMER, "0", NULL), 3000);
		if (now_ns() - began > longest)
			longest = now_ns() - began;
		over = i == ROUNDS - 1;
		if (write(pipes[1], "x", 1) != 1)
			bail_out("pipe");
		until(file_has(TIMER, "0", NULL));
	}
	ok(!late, "of %d timers %d did not run in 3 s; the longest took %lu ms", i, late,
	   longest / MS);
	ok(w->iso.page->state == ISOLATOR_STATE_ON, "the task is still isolated");
	worker_end(w);
	ok(module_unload("lab_waits"), "the module goes");
	return done_testing();
}
