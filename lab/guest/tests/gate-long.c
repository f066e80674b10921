// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: gate-long
 * cpus: 4
 * kernel: isolator
 * timeout: 1200
 * long: yes
 * about: as gate, a thousand times; less often on a kernel with checks, by how much that is slower
 */
#include "gate.h"

int main(void)
{
	unsigned int less = guest_slower(), stops = 10000 / less;
	struct stops seen;
	char number[16];

	iso_require(4);
	stops_require();
	worker_end(stops_alone(1000 / less, 100 / less, 5000 / less));
	snprintf(number, sizeof(number), "%u", stops);
	seen = stops_beside(number);
	ok(seen.stops == stops && seen.reads > 100 / less,
	   "%u stops beside %u looks from the kernel", seen.stops, seen.reads);
	ok(!seen.halfway && !seen.stale, "nobody ran the kernel meanwhile, nor text of before");
	return done_testing();
}
