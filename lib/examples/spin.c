// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The whole of it: a polling loop on a CPU that nothing interrupts, with a tick
 * every 10 ms of its own time.
 */
#define _GNU_SOURCE
#include "example.h"

#define TICK_NS		10000000ULL
#define RUN_NS		2000000000ULL

int main(void)
{
	const struct isolator_page *page;
	uint64_t begin, next, now;
	uint64_t loops = 0;
	int cpu = example_pin();
	int achieved = isolator_start(ISOLATOR_MASK_ALL);

	if (achieved < 0)
		example_fail("isolator_start", achieved);
	if (achieved != ISOLATOR_MASK_ALL)
		printf("only mask %#x of %#x is in force\n", (unsigned int)achieved,
		       ISOLATOR_MASK_ALL);

	begin = now = example_now_ns();
	for (next = now + TICK_NS; now - begin < RUN_NS; now = example_now_ns()) {
		loops++;	/* here: look at the device, the ring, the line */
		if (now >= next) {
			int left = isolator_tick(TICK_ALL);

			if (left < 0)
				example_fail("isolator_tick", left);
			next += TICK_NS;
		}
	}

	isolator_stop();
	page = isolator_page();
	printf("CPU %d: %llu loops, %llu ticks entered the kernel, %llu requests queued, %llu deadline misses\n",
	       cpu, (unsigned long long)loops, (unsigned long long)page->ticks,
	       (unsigned long long)page->queued, (unsigned long long)page->missed);
	return page->missed ? 2 : 0;
}
