// SPDX-License-Identifier: LGPL-2.1-or-later
/* All options of a start, and everything that it says about itself. */
#define _GNU_SOURCE
#include "example.h"

static const struct {
	unsigned int bit;
	const char *text;
} gots[] = {
	{ ISOLATOR_GOT_WATCHDOG, "lockup detectors are off here" },
	{ ISOLATOR_GOT_TIMEKEEPER, "another CPU keeps the time" },
	{ ISOLATOR_GOT_TASKS, "no movable task is left here" },
	{ ISOLATOR_GOT_IRQS, "no device interrupt is left here" },
	{ ISOLATOR_GOT_MM, "others keep off our memory" },
	{ ISOLATOR_GOT_LOCKED, "all our memory is locked" },
	{ ISOLATOR_GOT_RCU, "no RCU callback is left here" },
};

int main(void)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	struct isolator_result result = ISOLATOR_RESULT_INIT;
	int achieved;

	example_pin();
	options.deadline_ns = 500000000;	/* whoever sleeps waits 0.5 s at most */
	options.spin_ns = 20000000;		/* whoever spins, 20 ms */
	options.yield_ns = 1000000;		/* and a tick yields the CPU for 1 ms */
	achieved = isolator_start_opts(&options, &result);
	if (achieved < 0)
		example_fail("isolator_start_opts", achieved);

	printf("CPU %d, mask %#x, deadlines %llu ms and %llu ms, yield %llu us\n",
	       result.cpu, result.achieved,
	       (unsigned long long)result.deadline_ns / 1000000,
	       (unsigned long long)result.spin_ns / 1000000,
	       (unsigned long long)result.yield_ns / 1000);
	for (size_t i = 0; i < sizeof(gots) / sizeof(gots[0]); i++)
		printf("  %-3s %s\n", result.got & gots[i].bit ? "yes" : "no", gots[i].text);
	return isolator_stop() == 0 ? 0 : 1;
}
