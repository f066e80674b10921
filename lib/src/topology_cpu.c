// SPDX-License-Identifier: LGPL-2.1-or-later
/* What sysfs tells of each CPU by itself: core, caches, kind; and of its node. */
#include <stdlib.h>
#include <string.h>

#include "topology.h"

#define CPU_DIRECTORY	"sys/devices/system/cpu/cpu%u/"
/* Of the fastest core's figure, in percent; a favoured core is not another kind. */
#define KIND_CAPACITY	90
#define KIND_PERF	75

static bool is_online(const struct cpu_facts *facts)
{
	return facts->info.flags & ISOLATOR_CPU_ONLINE;
}

/* A group of CPUs is known by its lowest; -1 if @cpu is not in the list of its own. */
static int group_of(const struct cpus *cpus, unsigned int cpu)
{
	return cpus_has(cpus, cpu) ? isolator_cpus_first(cpus) : -1;
}

void isolator_topology_cores(struct isolator_topology *topology, const char *root)
{
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		struct cpu_facts *facts = &topology->facts[cpu];
		struct cpus list;
		uint64_t number;
		int read;

		if (!is_online(facts))
			continue;
		read = isolator_file_cpus(root, &list, CPU_DIRECTORY "topology/core_cpus_list",
					  cpu);
		/* The name that kernels before 5.3 have. */
		if (!read)
			isolator_file_cpus(root, &list,
					   CPU_DIRECTORY "topology/thread_siblings_list", cpu);
		facts->info.core = group_of(&list, cpu);
		if (facts->info.core < 0)
			topology->missing |= ISOLATOR_TOPOLOGY_NO_CORES;
		else
			facts->info.threads = isolator_cpus_count(&list);
		isolator_file_cpus(root, &list, CPU_DIRECTORY "topology/cluster_cpus_list", cpu);
		facts->info.cluster = group_of(&list, cpu);
		isolator_file_cpus(root, &list, CPU_DIRECTORY "topology/die_cpus_list", cpu);
		facts->info.die = group_of(&list, cpu);
		if (isolator_file_number(root, &number,
					 CPU_DIRECTORY "topology/physical_package_id", cpu) > 0 &&
		    number <= INT32_MAX)
			facts->info.package = (int32_t)number;
	}
}

/* Such as 2048K. */
static uint64_t bytes_of(const char *text)
{
	char *unit;
	uint64_t bytes = strtoull(text, &unit, 10);

	if (*unit == 'K')
		return bytes << 10;
	if (*unit == 'M')
		return bytes << 20;
	return *unit ? 0 : bytes;
}

static bool read_cache(const char *root, unsigned int cpu, unsigned int index,
		       struct isolator_cache *cache)
{
	struct cpus list;
	uint64_t number;
	char text[64];

	*cache = (struct isolator_cache)ISOLATOR_CACHE_INIT;
	if (isolator_file_number(root, &number, CPU_DIRECTORY "cache/index%u/level", cpu,
				 index) <= 0 || number < 1 || number > 9)
		return false;
	cache->level = (uint32_t)number;
	if (isolator_file_cpus(root, &list, CPU_DIRECTORY "cache/index%u/shared_cpu_list", cpu,
			       index) <= 0)
		return false;
	cache->first = group_of(&list, cpu);
	cache->cpus = isolator_cpus_count(&list);
	if (cache->first < 0)
		return false;
	if (!isolator_file_text(root, text, sizeof(text), CPU_DIRECTORY "cache/index%u/type",
				cpu, index))
		return false;
	if (strcmp(text, "Data") == 0)
		cache->type = ISOLATOR_CACHE_DATA;
	else if (strcmp(text, "Instruction") == 0)
		cache->type = ISOLATOR_CACHE_INSTRUCTION;
	/* Not every machine tells these. */
	if (isolator_file_text(root, text, sizeof(text), CPU_DIRECTORY "cache/index%u/size",
			       cpu, index))
		cache->bytes = bytes_of(text);
	if (isolator_file_number(root, &number,
				 CPU_DIRECTORY "cache/index%u/coherency_line_size", cpu,
				 index) > 0 && number <= 4096)
		cache->line = (uint32_t)number;
	return true;
}

void isolator_topology_caches(struct isolator_topology *topology, const char *root)
{
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		struct cpu_facts *facts = &topology->facts[cpu];

		if (!is_online(facts))
			continue;
		for (unsigned int index = 0; index < CACHES_MAX; index++) {
			struct isolator_cache *cache = &facts->caches[facts->cache_count];
			uint64_t level;

			if (!isolator_file_number(root, &level, CPU_DIRECTORY
						  "cache/index%u/level", cpu, index))
				break;
			if (!read_cache(root, cpu, index, cache)) {
				topology->missing |= ISOLATOR_TOPOLOGY_NO_CACHES;
				continue;
			}
			facts->cache_count++;
			if (cache->type == ISOLATOR_CACHE_INSTRUCTION)
				continue;
			if (cache->level == 2) {
				facts->l2 = cache->first;
				facts->info.l2_cpus = cache->cpus;
			} else if (cache->level == 3) {
				facts->l3 = cache->first;
				facts->info.l3_cpus = cache->cpus;
			}
		}
		if (!facts->cache_count)
			topology->missing |= ISOLATOR_TOPOLOGY_NO_CACHES;
	}
}

/* By Intel's two PMUs, by the scheduler's capacity, by the firmware's figure. */
void isolator_topology_kinds(struct isolator_topology *topology, const char *root)
{
	uint64_t capacity_max = 0, perf_max = 0, capacity_min = UINT32_MAX, perf_min = UINT32_MAX;
	struct cpus big, small;
	int read_big = isolator_file_cpus(root, &big, "sys/devices/cpu_core/cpus");
	int read_small = isolator_file_cpus(root, &small, "sys/devices/cpu_atom/cpus");
	bool by_list, by_capacity, by_perf;

	if (read_big < 0 || read_small < 0)
		topology->missing |= ISOLATOR_TOPOLOGY_NO_KINDS;
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		struct isolator_cpu *info = &topology->facts[cpu].info;
		uint64_t capacity, perf;

		if (!is_online(&topology->facts[cpu]))
			continue;
		if (isolator_file_number(root, &capacity, CPU_DIRECTORY "cpu_capacity", cpu) < 0 ||
		    isolator_file_number(root, &perf, CPU_DIRECTORY "acpi_cppc/highest_perf",
					 cpu) < 0 || capacity > 1024 || perf > UINT16_MAX) {
			topology->missing |= ISOLATOR_TOPOLOGY_NO_KINDS;
			capacity = perf = 0;
		}
		info->capacity = (uint32_t)capacity;
		info->highest_perf = (uint32_t)perf;
		capacity_max = capacity > capacity_max ? capacity : capacity_max;
		capacity_min = capacity < capacity_min ? capacity : capacity_min;
		perf_max = perf > perf_max ? perf : perf_max;
		perf_min = perf < perf_min ? perf : perf_min;
	}
	by_list = read_big > 0 && read_small > 0 && isolator_cpus_first(&big) >= 0 &&
		  isolator_cpus_first(&small) >= 0;
	/* A figure that one CPU lacks compares nothing. */
	by_capacity = !by_list && capacity_min &&
		      capacity_min * 100 < capacity_max * KIND_CAPACITY;
	by_perf = !by_list && !by_capacity && perf_min && perf_min * 100 < perf_max * KIND_PERF;
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		struct isolator_cpu *info = &topology->facts[cpu].info;
		bool slow;

		if (!is_online(&topology->facts[cpu]) || !(by_list || by_capacity || by_perf))
			continue;
		if (by_list)
			slow = !cpus_has(&big, cpu);
		else if (by_capacity)
			slow = info->capacity * 100 < capacity_max * KIND_CAPACITY;
		else
			slow = info->highest_perf * 100 < perf_max * KIND_PERF;
		info->flags |= slow ? ISOLATOR_CPU_EFFICIENCY : ISOLATOR_CPU_PERFORMANCE;
	}
}

void isolator_topology_nodes(struct isolator_topology *topology, const char *root)
{
	struct cpus nodes, with_memory, cpus;
	int memory_known;

	/* Lists of nodes look as those of CPUs do. */
	if (isolator_file_cpus(root, &nodes, "sys/devices/system/node/online") <= 0) {
		topology->missing |= ISOLATOR_TOPOLOGY_NO_NODES;
		return;
	}
	memory_known = isolator_file_cpus(root, &with_memory,
					  "sys/devices/system/node/has_memory") > 0;
	for (unsigned int node = 0; node < NODES_MAX; node++) {
		if (!cpus_has(&nodes, node))
			continue;
		if (isolator_file_cpus(root, &cpus, "sys/devices/system/node/node%u/cpulist",
				       node) <= 0) {
			topology->missing |= ISOLATOR_TOPOLOGY_NO_NODES;
			continue;
		}
		for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
			if (!cpus_has(&cpus, cpu))
				continue;
			topology->facts[cpu].info.node = (int32_t)node;
			topology->facts[cpu].memory = !memory_known ||
						      cpus_has(&with_memory, node);
		}
	}
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++)
		if (is_online(&topology->facts[cpu]) && topology->facts[cpu].info.node < 0)
			topology->missing |= ISOLATOR_TOPOLOGY_NO_NODES;
}
