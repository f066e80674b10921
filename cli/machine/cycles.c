// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/wait.h"
#include "machine/cycles.h"

#define PAIRS 16

void cycles_pair(uint64_t *now, uint64_t *now_ns)
{
	uint64_t best = UINT64_MAX;

	*now = *now_ns = 0;
	for (int i = 0; i < PAIRS; i++) {
		uint64_t before = cycles(), between_ns = wait_clock_ns(), after = cycles();

		/* Whatever came in between made it longer. */
		if (after - before >= best)
			continue;
		best = after - before;
		*now = before + best / 2;
		*now_ns = between_ns;
	}
}
