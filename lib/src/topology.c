// SPDX-License-Identifier: LGPL-2.1-or-later
/* A snapshot of the machine's CPUs: taken, asked, given back. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology.h"

#define OPTIONS_FIRST	sizeof(struct isolator_topology_options)

/* A bigger structure is that of a newer caller: fine while it asks for nothing new. */
static int check_options(const struct isolator_topology_options *options)
{
	if (options->size < OPTIONS_FIRST || options->flags)
		return EINVAL;
	if (!options_end(options, sizeof(*options), options->size))
		return E2BIG;
	return 0;
}

/* Without a list of the CPUs that are online there is nothing to tell. */
static int read_cpus(const char *root, struct cpus *online, struct cpus *possible)
{
	int read = isolator_file_cpus(root, online, "sys/devices/system/cpu/online");

	if (!read)
		return ENOENT;
	if (read < 0 || isolator_cpus_first(online) < 0)
		return EBADMSG;
	if (isolator_file_cpus(root, possible, "sys/devices/system/cpu/possible") <= 0)
		*possible = *online;
	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		possible->words[i] |= online->words[i];
	return 0;
}

static void set_up(struct isolator_topology *topology, const struct cpus *online,
		   const struct cpus *possible)
{
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		struct cpu_facts *facts = &topology->facts[cpu];

		facts->info = (struct isolator_cpu)ISOLATOR_CPU_INIT;
		facts->info.cpu = (int32_t)cpu;
		facts->l2 = facts->l3 = -1;
		facts->memory = true;
		if (cpus_has(possible, cpu))
			facts->info.flags |= ISOLATOR_CPU_POSSIBLE;
		if (cpus_has(online, cpu))
			facts->info.flags |= ISOLATOR_CPU_ONLINE;
	}
}

EXPORT int isolator_topology_read(const struct isolator_topology_options *options,
				  struct isolator_topology **topology)
{
	struct isolator_topology_options defaults = ISOLATOR_TOPOLOGY_OPTIONS_INIT;
	struct isolator_topology *made;
	struct cpus online, possible;
	unsigned int count = 0;
	const char *root;
	int error;

	if (!options)
		options = &defaults;
	error = topology ? check_options(options) : EINVAL;
	if (error)
		return isolator_failed(STEP_TOPOLOGY, error);
	root = options->root ? options->root : "";
	error = read_cpus(root, &online, &possible);
	if (error)
		return isolator_failed(STEP_TOPOLOGY, error);
	for (unsigned int cpu = 0; cpu < CPUS_MAX; cpu++)
		if (cpus_has(&possible, cpu))
			count = cpu + 1;
	made = calloc(1, sizeof(*made) + count * sizeof(made->facts[0]));
	if (!made)
		return isolator_failed(STEP_TOPOLOGY, ENOMEM);
	made->cpu_count = count;
	set_up(made, &online, &possible);
	isolator_topology_cores(made, root);
	isolator_topology_caches(made, root);
	isolator_topology_kinds(made, root);
	isolator_topology_nodes(made, root);
	isolator_topology_states(made, root);
	isolator_topology_interrupts(made, root);
	*topology = made;
	return (int)made->missing;
}

EXPORT void isolator_topology_free(struct isolator_topology *topology)
{
	free(topology);
}

static const struct cpu_facts *facts_of(const struct isolator_topology *topology, int cpu)
{
	if (cpu < 0 || (unsigned int)cpu >= topology->cpu_count ||
	    !(topology->facts[cpu].info.flags & ISOLATOR_CPU_POSSIBLE))
		return NULL;
	return &topology->facts[cpu];
}

/* As much of @from as the caller's structure has room for; its size is its first. */
static int give(void *to, uint32_t size, const void *from, size_t all)
{
	if (size < sizeof(size))
		return isolator_failed(STEP_TOPOLOGY, EINVAL);
	memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
	       (size < all ? size : all) - sizeof(size));
	return 0;
}

EXPORT int isolator_topology_cpu(const struct isolator_topology *topology, int cpu,
				 struct isolator_cpu *info)
{
	const struct cpu_facts *facts = facts_of(topology, cpu);

	if (!info)
		return (int)topology->cpu_count;
	if (!facts)
		return isolator_failed(STEP_TOPOLOGY, ENODEV);
	return give(info, info->size, &facts->info, sizeof(*info));
}

EXPORT int isolator_topology_cache(const struct isolator_topology *topology, int cpu,
				   unsigned int index, struct isolator_cache *cache)
{
	const struct cpu_facts *facts = facts_of(topology, cpu);

	if (!facts)
		return isolator_failed(STEP_TOPOLOGY, ENODEV);
	if (index >= facts->cache_count)
		return isolator_failed(STEP_TOPOLOGY, ENXIO);
	return give(cache, cache->size, &facts->caches[index], sizeof(*cache));
}

EXPORT int isolator_topology_shared(const struct isolator_topology *topology, int cpu,
				    int other)
{
	const struct cpu_facts *a = facts_of(topology, cpu);
	const struct cpu_facts *b = facts_of(topology, other);
	unsigned int shared = 0;

	if (!a || !b)
		return isolator_failed(STEP_TOPOLOGY, ENODEV);
	/* What is not known is not shared. */
	if (a->info.core >= 0 && a->info.core == b->info.core)
		shared |= ISOLATOR_SHARE_CORE;
	if (a->l2 >= 0 && a->l2 == b->l2)
		shared |= ISOLATOR_SHARE_L2;
	if (a->l3 >= 0 && a->l3 == b->l3)
		shared |= ISOLATOR_SHARE_L3;
	if (a->info.cluster >= 0 && a->info.cluster == b->info.cluster)
		shared |= ISOLATOR_SHARE_CLUSTER;
	if (a->info.die >= 0 && a->info.die == b->info.die)
		shared |= ISOLATOR_SHARE_DIE;
	if (a->info.package >= 0 && a->info.package == b->info.package)
		shared |= ISOLATOR_SHARE_PACKAGE;
	if (a->info.node >= 0 && a->info.node == b->info.node)
		shared |= ISOLATOR_SHARE_NODE;
	return (int)shared;
}

EXPORT int isolator_topology_list(const struct isolator_topology *topology,
				  unsigned int flags, char *text, size_t room)
{
	size_t length = 0;

	if (room)
		text[0] = 0;
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		unsigned int last = cpu;
		char range[32];
		int bytes;

		if ((topology->facts[cpu].info.flags & flags) != flags)
			continue;
		while (last + 1 < topology->cpu_count &&
		       (topology->facts[last + 1].info.flags & flags) == flags)
			last++;
		bytes = last == cpu ? snprintf(range, sizeof(range), "%s%u",
					       length ? "," : "", cpu) :
				      snprintf(range, sizeof(range), "%s%u-%u",
					       length ? "," : "", cpu, last);
		if (length < room)
			snprintf(text + length, room - length, "%s", range);
		length += (size_t)bytes;
		cpu = last;
	}
	return (int)length;
}
