/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libisolator: the machine's CPUs, and which of them to isolate.
 *
 * isolator_topology_read() takes a snapshot out of sysfs and procfs; the other
 * calls look at that.  None of this is for an isolated loop.
 *
 * Include <isolator.h>, which has this header.
 */
#ifndef ISOLATOR_TOPOLOGY_H
#define ISOLATOR_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a CPU is: */
#define ISOLATOR_CPU_POSSIBLE		(1U << 0)
#define ISOLATOR_CPU_ONLINE		(1U << 1)
/* The calling thread may run on it. */
#define ISOLATOR_CPU_ALLOWED		(1U << 2)
/* Boot parameter isolcpus=: the scheduler does not balance to it. */
#define ISOLATOR_CPU_ISOLCPUS		(1U << 3)
/* Boot parameter nohz_full=. */
#define ISOLATOR_CPU_NOHZ_FULL		(1U << 4)
/* In an isolated partition of a cpuset. */
#define ISOLATOR_CPU_PARTITION		(1U << 5)
/* In /proc/isolator/cpus: the administrator allows its isolation. */
#define ISOLATOR_CPU_PERMITTED		(1U << 6)
/* Isolated now. */
#define ISOLATOR_CPU_ISOLATED		(1U << 7)
/* Online, and none of isolcpus, nohz_full, a partition or isolated. */
#define ISOLATOR_CPU_HOUSEKEEPING	(1U << 8)
/* On a machine with cores of different kinds. */
#define ISOLATOR_CPU_PERFORMANCE	(1U << 9)
#define ISOLATOR_CPU_EFFICIENCY		(1U << 10)

/* What two CPUs have in common: */
#define ISOLATOR_SHARE_CORE		(1U << 0)
#define ISOLATOR_SHARE_L2		(1U << 1)
#define ISOLATOR_SHARE_L3		(1U << 2)
#define ISOLATOR_SHARE_CLUSTER		(1U << 3)
#define ISOLATOR_SHARE_DIE		(1U << 4)
#define ISOLATOR_SHARE_PACKAGE		(1U << 5)
#define ISOLATOR_SHARE_NODE		(1U << 6)

/* What isolator_topology_read() could not read, or found garbled: */
#define ISOLATOR_TOPOLOGY_NO_CORES	(1U << 0)
#define ISOLATOR_TOPOLOGY_NO_CACHES	(1U << 1)
#define ISOLATOR_TOPOLOGY_NO_NODES	(1U << 2)
#define ISOLATOR_TOPOLOGY_NO_AFFINITY	(1U << 3)
#define ISOLATOR_TOPOLOGY_NO_BOOT	(1U << 4)
#define ISOLATOR_TOPOLOGY_NO_PARTITIONS	(1U << 5)
#define ISOLATOR_TOPOLOGY_NO_INTERRUPTS	(1U << 6)
/* The kernel has no Isolator. */
#define ISOLATOR_TOPOLOGY_NO_ISOLATOR	(1U << 7)
/* What is known of the kinds of cores is garbled; without any they are alike. */
#define ISOLATOR_TOPOLOGY_NO_KINDS	(1U << 8)

/* Why to isolate a CPU: */
#define ISOLATOR_WHY_PERMITTED		(1U << 0)
#define ISOLATOR_WHY_UNSCHEDULED	(1U << 1)
#define ISOLATOR_WHY_NOHZ_FULL		(1U << 2)
#define ISOLATOR_WHY_OWN_CORE		(1U << 3)
#define ISOLATOR_WHY_PERFORMANCE	(1U << 4)
#define ISOLATOR_WHY_OWN_L2		(1U << 5)
#define ISOLATOR_WHY_NO_IRQS		(1U << 6)
/* Why not: */
#define ISOLATOR_WHY_NOT_PERMITTED	(1U << 16)
#define ISOLATOR_WHY_BOOT_CPU		(1U << 17)
#define ISOLATOR_WHY_BUSY_SIBLING	(1U << 18)
#define ISOLATOR_WHY_QUIET_SIBLING	(1U << 19)
#define ISOLATOR_WHY_UNKNOWN_SIBLING	(1U << 20)
#define ISOLATOR_WHY_EFFICIENCY		(1U << 21)
#define ISOLATOR_WHY_SHARED_L2		(1U << 22)
#define ISOLATOR_WHY_IRQS		(1U << 23)
#define ISOLATOR_WHY_NO_MEMORY		(1U << 24)
#define ISOLATOR_WHY_BOOT_SIBLING	(1U << 25)
/* Why it cannot be isolated as things are: */
#define ISOLATOR_WHY_NOT_ALLOWED	(1U << 28)
#define ISOLATOR_WHY_TAKEN		(1U << 29)
#define ISOLATOR_WHY_LAST		(1U << 30)
#define ISOLATOR_WHY_CANNOT \
	(ISOLATOR_WHY_NOT_ALLOWED | ISOLATOR_WHY_TAKEN | ISOLATOR_WHY_LAST)

struct isolator_topology;

/**
 * struct isolator_topology_options - what isolator_topology_read() is asked for
 * @size: sizeof(struct isolator_topology_options)
 * @flags: 0
 * @root: the directory below which sys and proc are, NULL for /; a capture of
 *	another machine can be judged
 */
struct isolator_topology_options {
	uint32_t size;
	uint32_t flags;
	const char *root;
};

#define ISOLATOR_TOPOLOGY_OPTIONS_INIT \
	{ sizeof(struct isolator_topology_options), 0, NULL }

/**
 * struct isolator_cpu - one CPU
 * @size: in: sizeof(struct isolator_cpu); ISOLATOR_CPU_INIT sets it
 * @flags: ISOLATOR_CPU_*
 * @cpu: its number
 * @core: the lowest CPU of its core, -1 when not known, as it is offline
 * @cluster: the lowest CPU of its cluster, -1 when not known
 * @die: the lowest CPU of its die, -1 when not known
 * @package: number of its package, -1 when not known
 * @node: its NUMA node, -1 when not known
 * @threads: how many online CPUs its core has, itself included; 0 when not known
 * @l2_cpus: how many share its level 2 cache, itself included; 0 when not known
 * @l3_cpus: the same for level 3
 * @capacity: cpu_capacity as the kernel sees it, 1024 at most; 0 when not known
 * @highest_perf: acpi_cppc/highest_perf; 0 when not known
 * @irqs: device interrupts that are directed at it now
 * @interrupts: device interrupts that it has taken since boot
 */
struct isolator_cpu {
	uint32_t size;
	uint32_t flags;
	int32_t cpu;
	int32_t core;
	int32_t cluster;
	int32_t die;
	int32_t package;
	int32_t node;
	uint32_t threads;
	uint32_t l2_cpus;
	uint32_t l3_cpus;
	uint32_t capacity;
	uint32_t highest_perf;
	uint32_t irqs;
	uint64_t interrupts;
};

#define ISOLATOR_CPU_INIT \
	{ sizeof(struct isolator_cpu), 0, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0 }

enum isolator_cache_type {
	ISOLATOR_CACHE_UNIFIED,
	ISOLATOR_CACHE_DATA,
	ISOLATOR_CACHE_INSTRUCTION,
};

/**
 * struct isolator_cache - one cache of a CPU
 * @size: in: sizeof(struct isolator_cache); ISOLATOR_CACHE_INIT sets it
 * @level: 1 is the nearest
 * @type: enum isolator_cache_type
 * @line: bytes of a line, 0 when not known
 * @bytes: its size, 0 when not known
 * @first: the lowest CPU that shares it
 * @cpus: how many share it
 */
struct isolator_cache {
	uint32_t size;
	uint32_t level;
	uint32_t type;
	uint32_t line;
	uint64_t bytes;
	int32_t first;
	uint32_t cpus;
};

#define ISOLATOR_CACHE_INIT \
	{ sizeof(struct isolator_cache), 0, 0, 0, 0, -1, 0 }

/**
 * struct isolator_candidate - one CPU that might be isolated
 * @cpu: its number
 * @score: higher is better; comparable within one snapshot only
 * @why: ISOLATOR_WHY_*
 * @reserved: 0
 * @text: the same for people, one clause each
 */
struct isolator_candidate {
	int32_t cpu;
	int32_t score;
	uint32_t why;
	uint32_t reserved;
	char text[496];
};

/*
 * Take a snapshot; @options may be NULL.  Returns ISOLATOR_TOPOLOGY_NO_* for what
 * could not be read; 0 is all of it.
 */
int isolator_topology_read(const struct isolator_topology_options *options,
			   struct isolator_topology **topology);

/* Give the snapshot back; NULL is nothing to give. */
void isolator_topology_free(struct isolator_topology *topology);

/* Fill @info for CPU number @cpu.  Without @info: returns the highest possible + 1. */
int isolator_topology_cpu(const struct isolator_topology *topology, int cpu,
			  struct isolator_cpu *info);

/* Fill @cache for the @index-th cache of CPU number @cpu, counted from 0. */
int isolator_topology_cache(const struct isolator_topology *topology, int cpu,
			    unsigned int index, struct isolator_cache *cache);

/* What two CPUs have in common: ISOLATOR_SHARE_*. */
int isolator_topology_shared(const struct isolator_topology *topology, int cpu, int other);

/*
 * The CPUs that have all of @flags, such as "1-3,5", in @text of @room bytes.
 * Returns the length of the whole list, as snprintf() does.
 */
int isolator_topology_list(const struct isolator_topology *topology, unsigned int flags,
			   char *text, size_t room);

/*
 * Rank the online CPUs, the best first, into @list of @room entries.  Returns how
 * many can be isolated as things are: they come before those that cannot.  *@count,
 * unless @count is NULL, is how many entries are filled.
 */
int isolator_topology_best(const struct isolator_topology *topology,
			   struct isolator_candidate *list, size_t room, size_t *count);

#ifdef __cplusplus
}
#endif

#endif /* ISOLATOR_TOPOLOGY_H */
