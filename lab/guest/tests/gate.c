// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: gate
 * cpus: 4
 * kernel: isolator
 * timeout: 240
 * about: stops of the machine leave user mode alone, and nobody runs the kernel meanwhile
 */
#include "counted.h"
#include "gate.h"
#include "tries.h"

/* The task that never ticks. */
static struct worker *spins;

/*
 * Calls that nobody waits for lie in the memory of the CPU that goes, one of either kind.  1: none
 * was queued any more, as where the host stands still for D_spin right behind them.
 */
static uint64_t call_and_go(void)
{
	pid_t pid = fork();
	uint64_t missed;
	int status;

	if (!pid)
		_exit(iso_pin(3) || put_file(STOPS, "call 1") || iso_pin(0));
	waitpid(pid, &status, 0);
	/* The fork itself may have waited for the task. */
	missed = spins->iso.page->missed;
	ok(!status, "CPU 3 has called the task's CPU");
	if (!spins->iso.page->due)
		return 1;
	ok(!put_file(CPU3, "0"), "CPU 3 goes");
	missed = spins->iso.page->missed - missed;
	if (!ok(missed == 1, "when the calls have run: %lu deadline misses", missed))
		show_deliveries();
	ok(!put_file(CPU3, "1"), "and comes back");
	return 0;
}

enum { STOPS_OF_ALL = 5 };

/* Of what runs with the machine stopped: senders of other calls may leave the task out then. */
static uint64_t left_out(void)
{
	return counted("cpu 1 callback isolator_stop_and_change ", " excluded ");
}

/* Some stop the machine for what user mode may access. */
static void stop_everybody(void)
{
	uint64_t immediate = spins->iso.page->immediate, excluded = left_out();

	for (int i = 0; i < STOPS_OF_ALL; i++) {
		if (put_file(STOPS, "all 1"))
			bail_out(STOPS);
		/* It is in user mode again. */
		worker_tells(spins);
	}
	immediate = spins->iso.page->immediate - immediate;
	ok(immediate >= STOPS_OF_ALL, "%d stops of everybody interrupted the task %lu times",
	   STOPS_OF_ALL, immediate);
	excluded = left_out() - excluded;
	ok(!excluded, "and left it out of none: %lu", excluded);
}

int main(void)
{
	struct stops seen;

	iso_require(4);
	stops_require();
	spins = stops_alone(20, 20, 200);
	ok_in_tries("it has the calls queued until CPU 3 goes", call_and_go);
	stop_everybody();
	worker_end(spins);

	seen = stops_beside("200");
	ok(seen.stops == 200 && seen.reads > 100, "%u stops beside %u looks from the kernel",
	   seen.stops, seen.reads);
	ok(!seen.halfway, "nobody ran the kernel meanwhile");
	ok(!seen.stale, "nor text of before afterwards");
	seen = stops_beside("all 50");
	ok(seen.stops == 50 && !seen.halfway && !seen.stale, "nor at %u stops of everybody",
	   seen.stops);
	return done_testing();
}
