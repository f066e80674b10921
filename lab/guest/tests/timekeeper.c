// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: timekeeper
 * cpus: 4
 * kernel: isolator
 * timeout: 60
 * about: a CPU of nohz_full= does not keep the time: another does, or there is no isolation
 * append: nohz_full=1,2
 */
#include "../test.h"

/* The one that is neither isolated nor of nohz_full=; and who kept the time before. */
#define KEEPER	"/sys/devices/system/cpu/cpu3/online"
#define BEFORE	"/sys/devices/system/cpu/cpu0/online"

/*
 * Steps of a tick of 1000 Hz.  Where the keeper has none, the time goes on with what else
 * interrupts a CPU, as the watch does each 50 ms: mostly in longer steps.  A busy host makes some
 * of a tick's longer, not all.
 */
enum { STEPS = 200, STEP_MOST_MS = 10 };

/* The time that ticks keep, as against the clock: by the page, without a system call. */
static uint64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * SEC + (uint64_t)t.tv_nsec;
}

static int start_on(int cpu)
{
	struct iso iso = { .fd = -1 };
	int error = iso_pin(cpu) ?: iso_start(&iso, 0, 0);

	if (!error)
		iso_stop(&iso);
	iso_close(&iso);
	return error;
}

int main(void)
{
	struct worker *w = worker_new(0), *busy = worker_new(1);
	uint64_t coarse, start;
	int error, steps = 0;

	iso_require(4);
	put_file("/proc/isolator/cpus", "0-3");
	if (!file_has("/sys/devices/system/cpu/nohz_full", "1-2", NULL))
		bail_out("nohz_full=1,2 did not take");
	iso_pin(2);
	/* Its tick stops, as it is alone there and stays in user mode. */
	busy->plain = true;
	busy->other = true;
	w->tick_ms = 10;
	w->spin_ns = SEC;
	if (!worker_thread(busy) || !worker_thread(w))
		bail_out("no worker");
	/* And so does this one's, when what its kernel had left to do is done. */
	spin_ms(2000);
	coarse = coarse_ns();
	start = now_ns();
	/* How long the time stands still may be the host's doing: short steps are not. */
	while (steps < STEPS && now_ns() - start < 30 * SEC * guest_slower()) {
		uint64_t now = coarse_ns();

		steps += now != coarse && now - coarse <= STEP_MOST_MS * MS;
		coarse = now;
	}
	ok(steps == STEPS, "with CPU 0 isolated the time goes on, by %d of %d ticks in %lu ms",
	   steps, STEPS, (now_ns() - start) / MS);
	error = start_on(3);
	ok(error == -EBUSY,
	   "the last that can keep it is not isolated, though two others are left: %d", error);
	error = start_on(1);
	ok(!error, "one of nohz_full= is: %d", error);
	iso_pin(2);
	/* It gets the time back, and with nohz_full= stays for that.  x86 never lets it go. */
	if (!access(BEFORE, F_OK)) {
		error = put_file(BEFORE, "0");
		worker_tells(w);
		ok(error == -EBUSY && !w->end, "nor does the CPU that kept it go offline: %d",
		   error);
	} else {
		diag("CPU 0 never goes offline on this machine");
	}
	worker_end(w);
	worker_end(busy);
	/* Who keeps the time cannot go offline with nohz_full=: CPU 0 does, as before. */
	ok(comes(!put_file(KEEPER, "0"), 10000),
	   "after the last end the CPU that kept the time goes offline");
	ok(!put_file(KEEPER, "1"), "and online");
	return done_testing();
}
