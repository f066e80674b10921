// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: caps
 * cpus: 2
 * kernel: isolator
 * timeout: 30
 * once: yes
 * about: as delivered nobody may let others wait for more than 1 s and 100 ms
 * alone: yes
 */
#include "../test.h"

#define LIMITS "/proc/isolator/limits"

static int start(uint64_t deadline_ns, uint64_t spin_ns)
{
	struct iso iso = { .fd = -1 };
	int error = iso_start(&iso, deadline_ns, spin_ns);

	if (!error)
		iso_stop(&iso);
	iso_close(&iso);
	return error;
}

int main(void)
{
	/* Not by iso_require(), which raises the limits. */
	if (access(LIMITS, F_OK))
		bail_out("no " LIMITS ": this kernel has no Isolator");
	if (put_file("/proc/isolator/cpus", "1") || iso_pin(1))
		bail_out("CPU 1 cannot be isolated");
	ok(file_has(LIMITS, "deadline_ns 1000000000\n", NULL) &&
	   file_has(LIMITS, "spin_ns 100000000\n", NULL), "the limits are 1 s and 100 ms");
	ok(!start(SEC, 100 * MS), "a start may ask for both");
	ok(start(SEC + 1, 0) == -ERANGE, "for a longer deadline: ERANGE");
	ok(start(0, 100 * MS + 1) == -ERANGE, "for a longer D_spin: ERANGE");
	ok(!iso_raise_limits() && !start(60 * SEC, SEC), "the administrator allows more");
	return done_testing();
}
