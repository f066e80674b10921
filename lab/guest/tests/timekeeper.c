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
	uint64_t coarse, end, longest = 0;
	int error;

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
	/* And so does this one's. */
	coarse = coarse_ns();
	end = now_ns() + 3 * SEC;
	for (uint64_t now = now_ns(), last = now; now < end; now = now_ns()) {
		if (coarse_ns() != coarse) {
			coarse = coarse_ns();
			last = now;
		}
		if (now - last > longest)
			longest = now - last;
	}
	ok(longest < 2 * SEC, "with CPU 0 isolated the time goes on, by %lu ms at most",
	   longest / MS);
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
