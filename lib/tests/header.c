// SPDX-License-Identifier: LGPL-2.1-or-later
/* The header alone, as strict C11 and with every inline used. */
#include <isolator.h>

_Static_assert(ISOLATOR_MASK_ALL == 7, "masks come from the kernel's header");
_Static_assert(sizeof(struct isolator_options) == 48, "part of the ABI");
_Static_assert(sizeof(struct isolator_result) == 48, "part of the ABI");
_Static_assert(sizeof(struct isolator_tick_result) == 16, "part of the ABI");
_Static_assert(sizeof(struct isolator_pool_options) == 24, "part of the ABI");
_Static_assert(sizeof(struct isolator_pool_stats) == 128, "part of the ABI");
_Static_assert(TICK_ALL == (TICK_SCHED | TICK_RT | TICK_TSC_SYNC), "short names");

int main(void)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	struct isolator_result result = ISOLATOR_RESULT_INIT;
	struct isolator_pool_options pool = ISOLATOR_POOL_OPTIONS_INIT;
	struct isolator_pool_stats stats = ISOLATOR_POOL_STATS_INIT;

	return pool.cpu == -1 && stats.size == sizeof(stats) && !isolator_alloc(1) &&
	       isolator_free(&result) < 0 && options.mask == ISOLATOR_MASK_ALL && result.cpu == -1 &&
	       isolator_due() == 0 && isolator_tick(TICK_ALL) < 0 ? 0 : 1;
}
