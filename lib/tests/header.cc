// SPDX-License-Identifier: LGPL-2.1-or-later
// The header from C++, linked with the shared library.
#include <isolator.h>

static_assert(sizeof(isolator_options) == 48, "part of the ABI");

int main()
{
	isolator_options options = ISOLATOR_OPTIONS_INIT;
	isolator_result result = ISOLATOR_RESULT_INIT;
	isolator_task_options task = ISOLATOR_TASK_OPTIONS_INIT;
	isolator_channel_options ring = ISOLATOR_CHANNEL_OPTIONS_INIT;
	isolator_channel *channel = nullptr;
	isolator_pool_options pool = ISOLATOR_POOL_OPTIONS_INIT;
	isolator_pool_stats stats = ISOLATOR_POOL_STATS_INIT;
	isolator_cpu cpu = ISOLATOR_CPU_INIT;
	isolator_cache cache = ISOLATOR_CACHE_INIT;
	isolator_topology *topology;

	if (isolator_channel_open(isolator_channel_create(&ring), ISOLATOR_SIDE_A, &channel) != 0 ||
	    isolator_poll(channel, 1) != 0 || isolator_channel_close(channel) != 0)
		return 1;
	if (isolator_topology_read(nullptr, &topology) < 0 || cpu.cpu != -1 || cache.first != -1)
		return 1;
	isolator_topology_free(topology);
	task.size = 0;
	if (isolator_start_task(1, &task, &result) >= 0 || isolator_stop_task(-1) >= 0)
		return 1;
	return pool.cpu == -1 && isolator_pool_stat(nullptr, &stats) < 0 &&
	       isolator_alloc(1) == nullptr && isolator_free(&result) < 0 &&
	       options.device == nullptr && result.depth == 0 && isolator_page() == nullptr &&
	       isolator_due() == 0 && isolator_tick(TICK_ALL) < 0 ? 0 : 1;
}
