/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A snapshot of the machine's CPUs from the inside. */
#ifndef ISOLATOR_TOPOLOGY_INTERNAL_H
#define ISOLATOR_TOPOLOGY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "internal.h"

/* As many as a kernel can have. */
#define CPUS_MAX	8192
#define CACHES_MAX	8
#define NODES_MAX	1024

struct cpus {
	uint64_t words[CPUS_MAX / 64];
};

static inline bool cpus_has(const struct cpus *cpus, unsigned int cpu)
{
	return cpu < CPUS_MAX && (cpus->words[cpu / 64] >> (cpu % 64) & 1);
}

/* A list such as "0-3,8"; false if it is no list or has a CPU beyond the last. */
HIDDEN bool isolator_cpus_parse(const char *text, struct cpus *cpus);
HIDDEN unsigned int isolator_cpus_count(const struct cpus *cpus);
/* The lowest, -1 without any. */
HIDDEN int isolator_cpus_first(const struct cpus *cpus);

/* Files below @root, whose path is put together as printf() does. */

/* Text of a short file, without the newline; false if it cannot be read. */
HIDDEN bool isolator_file_text(const char *root, char *text, size_t room,
			       const char *path, ...) __attribute__((format(printf, 4, 5)));
/* A long one, to be read line by line; NULL if there is none. */
HIDDEN FILE *isolator_file_open(const char *root, const char *path);
/* 1: a list of CPUs; 0: there is no such file; -1: what is in it is no list. */
HIDDEN int isolator_file_cpus(const char *root, struct cpus *cpus, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a number of at least 0. */
HIDDEN int isolator_file_number(const char *root, uint64_t *number, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* CPUs in isolated partitions; false if not all can be known. */
HIDDEN bool isolator_cgroup_partitions(const char *root, struct cpus *cpus);

/**
 * struct cpu_facts - what is known of a CPU
 * @info: the same for the caller
 * @l2: the lowest CPU that shares its level 2 cache, -1 when not known
 * @l3: the same for level 3
 * @memory: its node has some, or that is not known
 * @cache_count: entries of @caches
 */
struct cpu_facts {
	struct isolator_cpu info;
	int l2;
	int l3;
	bool memory;
	unsigned int cache_count;
	struct isolator_cache caches[CACHES_MAX];
};

struct isolator_topology {
	unsigned int missing;
	unsigned int cpu_count;
	struct cpu_facts facts[];
};

/* Each fills its part of the snapshot and notes what it could not read. */
HIDDEN void isolator_topology_cores(struct isolator_topology *topology, const char *root);
HIDDEN void isolator_topology_caches(struct isolator_topology *topology, const char *root);
HIDDEN void isolator_topology_kinds(struct isolator_topology *topology, const char *root);
HIDDEN void isolator_topology_nodes(struct isolator_topology *topology, const char *root);
HIDDEN void isolator_topology_states(struct isolator_topology *topology, const char *root);
HIDDEN void isolator_topology_interrupts(struct isolator_topology *topology, const char *root);

#endif
