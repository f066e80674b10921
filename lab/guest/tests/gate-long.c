// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: gate-long
 * cpus: 4
 * kernel: isolator
 * timeout: 1200
 * long: yes
 * about: as gate, a thousand times
 */
#include "gate.h"

int main(void)
{
	struct stops seen;

	iso_require(4);
	stops_require();
	worker_end(stops_alone(1000, 100, 5000));
	seen = stops_beside("10000");
	ok(seen.stops == 10000 && seen.reads > 100, "%u stops beside %u looks from the kernel",
	   seen.stops, seen.reads);
	ok(!seen.halfway && !seen.stale, "nobody ran the kernel meanwhile, nor text of before");
	return done_testing();
}
