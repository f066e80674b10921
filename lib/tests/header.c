// SPDX-License-Identifier: LGPL-2.1-or-later
/* The header alone, as strict C11 and with every inline used. */
#include <isolator.h>

_Static_assert(ISOLATOR_MASK_ALL == 7, "masks come from the kernel's header");
_Static_assert(sizeof(struct isolator_options) == 48, "part of the ABI");
_Static_assert(sizeof(struct isolator_result) == 56, "part of the ABI");
_Static_assert(sizeof(struct isolator_task_options) == 48, "part of the ABI");
_Static_assert(sizeof(struct isolator_tick_result) == 16, "part of the ABI");
_Static_assert(sizeof(struct isolator_channel_options) == 16, "part of the ABI");
_Static_assert(sizeof(struct isolator_channel_counters) == 72, "part of the ABI");
_Static_assert(sizeof(struct isolator_gap) == 16, "part of the ABI");
_Static_assert(sizeof(struct isolator_pool_options) == 24, "part of the ABI");
_Static_assert(sizeof(struct isolator_pool_stats) == 128, "part of the ABI");
_Static_assert(sizeof(struct isolator_topology_options) == 16, "part of the ABI");
_Static_assert(sizeof(struct isolator_cpu) == 64, "part of the ABI");
_Static_assert(sizeof(struct isolator_cache) == 32, "part of the ABI");
_Static_assert(sizeof(struct isolator_candidate) == 512, "part of the ABI");
_Static_assert(TICK_ALL == (TICK_SCHED | TICK_YIELD | TICK_TSC_SYNC), "short names");

int main(void)
{
	struct isolator_options options = ISOLATOR_OPTIONS_INIT;
	struct isolator_result result = ISOLATOR_RESULT_INIT;
	struct isolator_task_options task = ISOLATOR_TASK_OPTIONS_INIT;
	struct isolator_channel_options ring = ISOLATOR_CHANNEL_OPTIONS_INIT;
	struct isolator_channel *channel = 0;
	struct isolator_pool_options pool = ISOLATOR_POOL_OPTIONS_INIT;
	struct isolator_pool_stats stats = ISOLATOR_POOL_STATS_INIT;
	struct isolator_topology_options where = ISOLATOR_TOPOLOGY_OPTIONS_INIT;
	struct isolator_cpu cpu = ISOLATOR_CPU_INIT;
	struct isolator_cache cache = ISOLATOR_CACHE_INIT;
	struct isolator_topology *topology;
	int fd = isolator_channel_create(&ring);

	if (fd < 0 || isolator_channel_open(fd, ISOLATOR_SIDE_B, &channel) ||
	    isolator_poll(channel, 1) || isolator_post(channel, 0, "x", 1) ||
	    isolator_channel_close(channel))
		return 1;
	if (isolator_topology_read(&where, &topology) < 0 || cpu.cpu != -1 || cache.first != -1)
		return 1;
	isolator_topology_free(topology);
	task.size = 0;
	if (isolator_start_task(1, &task, &result) >= 0 || isolator_stop_task(-1) >= 0)
		return 1;
	return pool.cpu == -1 && stats.size == sizeof(stats) && !isolator_alloc(1) &&
	       isolator_free(&result) < 0 && options.mask == ISOLATOR_MASK_ALL && result.cpu == -1 &&
	       isolator_due() == 0 && isolator_tick(TICK_ALL) < 0 ? 0 : 1;
}
