// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: hotplug
 * cpus: 4
 * kernel: isolator
 * timeout: 90
 * about: taking CPUs offline: isolation of the target ends first, others stay isolated
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include "../iso.h"
#include "../tap.h"

#define CPU(n) "/sys/devices/system/cpu/cpu" #n "/online"

int main(void)
{
	struct worker *w1 = worker_new(1), *w2 = worker_new(2), *again = worker_new(1);
	uint64_t rounds;

	iso_require(4);
	w1->tick_ms = w2->tick_ms = 10;
	if (!worker_process(w1) || !worker_process(w2)) {
		ok(false, "no isolated workers");
		return done_testing();
	}
	ok(!put_file(CPU(3), "0"), "a housekeeping CPU goes offline");
	ok(!put_file(CPU(3), "1"), "and comes back");
	sleep_ms(50);
	ok(w1->end == ISOLATOR_END_NONE && w2->end == ISOLATOR_END_NONE,
	   "nobody's isolation ended");
	ok(!put_file(CPU(1), "0"), "an isolated CPU goes offline");
	rounds = w1->rounds;
	ok(wait_for(&w1->rounds, rounds + 1000, 2000), "its task runs on elsewhere");
	sleep_ms(50);
	ok(w1->end == ISOLATOR_END_HOTPLUG, "its page says hotplug: %u", w1->end);
	ok(w2->end == ISOLATOR_END_NONE, "the other is still isolated");
	rounds = w2->rounds;
	ok(wait_for(&w2->rounds, rounds + 1000, 2000), "and runs");
	worker_end(w1);
	ok(!put_file(CPU(1), "1"), "the CPU comes back");
	again->tick_ms = 10;
	if (ok(worker_process(again), "and can be isolated again"))
		worker_end(again);
	worker_end(w2);
	return done_testing();
}
