// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which CPU to isolate: each reason has its points, and is told. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology.h"

#define SCORE_START	100
/* Device interrupts beyond these make nothing worse. */
#define IRQS_MAX	20

static const struct {
	unsigned int why;
	int points;
	/* May take one number. */
	const char *text;
} reasons[] = {
	{ ISOLATOR_WHY_LAST, 0,
	  "it is the last housekeeping CPU, and one must stay" },
	{ ISOLATOR_WHY_TAKEN, 0,
	  "it is isolated already" },
	{ ISOLATOR_WHY_NOT_ALLOWED, 0,
	  "the calling thread may not run on it (affinity or cpuset)" },
	{ ISOLATOR_WHY_NOT_PERMITTED, -60,
	  "not in /proc/isolator/cpus (as root: echo %d > /proc/isolator/cpus)" },
	{ ISOLATOR_WHY_PERMITTED, 30,
	  "the administrator allows it" },
	{ ISOLATOR_WHY_BOOT_CPU, -40,
	  "the boot CPU, which has work that cannot move" },
	/* Which cannot go offline on most machines. */
	{ ISOLATOR_WHY_BOOT_SIBLING, -40,
	  "shares its core with the boot CPU" },
	{ ISOLATOR_WHY_BUSY_SIBLING, -30,
	  "shares its core with busy CPU %d (take that one offline)" },
	{ ISOLATOR_WHY_EFFICIENCY, -25,
	  "an efficiency core" },
	{ ISOLATOR_WHY_UNSCHEDULED, 20,
	  "the scheduler keeps off it (isolcpus or an isolated partition)" },
	{ ISOLATOR_WHY_NO_MEMORY, -15,
	  "its NUMA node %d has no memory" },
	{ ISOLATOR_WHY_SHARED_L2, -10,
	  "shares its level 2 cache with another core, CPU %d" },
	{ ISOLATOR_WHY_UNKNOWN_SIBLING, -10,
	  "whether it shares its core is not known" },
	{ ISOLATOR_WHY_NOHZ_FULL, 10,
	  "nohz_full" },
	{ ISOLATOR_WHY_QUIET_SIBLING, -5,
	  "shares its core with CPU %d, which is kept free too" },
	/* A point for each of them, see rate(). */
	{ ISOLATOR_WHY_IRQS, 0,
	  "device interrupts directed at it: %d" },
	{ ISOLATOR_WHY_NO_IRQS, 5,
	  "no device interrupt is directed at it" },
	{ ISOLATOR_WHY_OWN_L2, 5,
	  "a level 2 cache of its own" },
	{ ISOLATOR_WHY_OWN_CORE, 5,
	  "a core of its own" },
	{ ISOLATOR_WHY_PERFORMANCE, 5,
	  "a performance core" },
};

/* The online CPU that shares what makes @same true with @cpu; -1 without one. */
static int partner(const struct isolator_topology *topology, unsigned int cpu,
		   bool (*same)(const struct cpu_facts *a, const struct cpu_facts *b),
		   unsigned int flags)
{
	for (unsigned int other = 0; other < topology->cpu_count; other++) {
		const struct cpu_facts *facts = &topology->facts[other];

		if (other != cpu && (facts->info.flags & flags) == flags &&
		    same(&topology->facts[cpu], facts))
			return (int)other;
	}
	return -1;
}

static bool same_core(const struct cpu_facts *a, const struct cpu_facts *b)
{
	return a->info.core >= 0 && a->info.core == b->info.core;
}

static bool same_l2_only(const struct cpu_facts *a, const struct cpu_facts *b)
{
	return a->l2 >= 0 && a->l2 == b->l2 && !same_core(a, b);
}

/* What stands between the CPU and its isolation, whatever it is worth. */
static unsigned int obstacles(const struct isolator_topology *topology, unsigned int cpu)
{
	unsigned int flags = topology->facts[cpu].info.flags;
	unsigned int why = 0;
	bool other = false;

	if (!(flags & ISOLATOR_CPU_ALLOWED))
		why |= ISOLATOR_WHY_NOT_ALLOWED;
	if (flags & ISOLATOR_CPU_ISOLATED)
		why |= ISOLATOR_WHY_TAKEN;
	/* A CPU that isolcpus or nohz_full name can still keep house for Isolator. */
	for (unsigned int i = 0; i < topology->cpu_count; i++)
		other |= i != cpu && (topology->facts[i].info.flags & ISOLATOR_CPU_ONLINE) &&
			 !(topology->facts[i].info.flags & ISOLATOR_CPU_ISOLATED);
	if (!other)
		why |= ISOLATOR_WHY_LAST;
	return why;
}

static unsigned int judge(const struct isolator_topology *topology, unsigned int cpu)
{
	const struct cpu_facts *facts = &topology->facts[cpu];
	unsigned int flags = facts->info.flags;
	unsigned int why = obstacles(topology, cpu);

	if (!(topology->missing & ISOLATOR_TOPOLOGY_NO_ISOLATOR))
		why |= flags & ISOLATOR_CPU_PERMITTED ? ISOLATOR_WHY_PERMITTED :
							ISOLATOR_WHY_NOT_PERMITTED;
	if (cpu == 0)
		why |= ISOLATOR_WHY_BOOT_CPU;
	if (facts->info.core < 0)
		why |= ISOLATOR_WHY_UNKNOWN_SIBLING;
	else if (partner(topology, cpu, same_core, ISOLATOR_CPU_HOUSEKEEPING) == 0)
		why |= ISOLATOR_WHY_BOOT_SIBLING;
	else if (partner(topology, cpu, same_core, ISOLATOR_CPU_HOUSEKEEPING) > 0)
		why |= ISOLATOR_WHY_BUSY_SIBLING;
	else if (partner(topology, cpu, same_core, ISOLATOR_CPU_ONLINE) >= 0)
		why |= ISOLATOR_WHY_QUIET_SIBLING;
	else
		why |= ISOLATOR_WHY_OWN_CORE;
	if (partner(topology, cpu, same_l2_only, ISOLATOR_CPU_ONLINE) >= 0)
		why |= ISOLATOR_WHY_SHARED_L2;
	else if (facts->l2 >= 0)
		why |= ISOLATOR_WHY_OWN_L2;
	if (flags & ISOLATOR_CPU_PERFORMANCE)
		why |= ISOLATOR_WHY_PERFORMANCE;
	if (flags & ISOLATOR_CPU_EFFICIENCY)
		why |= ISOLATOR_WHY_EFFICIENCY;
	if (flags & (ISOLATOR_CPU_ISOLCPUS | ISOLATOR_CPU_PARTITION))
		why |= ISOLATOR_WHY_UNSCHEDULED;
	if (flags & ISOLATOR_CPU_NOHZ_FULL)
		why |= ISOLATOR_WHY_NOHZ_FULL;
	if (!facts->memory)
		why |= ISOLATOR_WHY_NO_MEMORY;
	if (facts->info.irqs)
		why |= ISOLATOR_WHY_IRQS;
	else if (!(topology->missing & ISOLATOR_TOPOLOGY_NO_INTERRUPTS))
		why |= ISOLATOR_WHY_NO_IRQS;
	return why;
}

/* The number that the reason's text takes, if it takes one. */
static int number_of(const struct isolator_topology *topology, unsigned int cpu,
		     unsigned int why)
{
	switch (why) {
	case ISOLATOR_WHY_BUSY_SIBLING:
		return partner(topology, cpu, same_core, ISOLATOR_CPU_HOUSEKEEPING);
	case ISOLATOR_WHY_QUIET_SIBLING:
		return partner(topology, cpu, same_core, ISOLATOR_CPU_ONLINE);
	case ISOLATOR_WHY_SHARED_L2:
		return partner(topology, cpu, same_l2_only, ISOLATOR_CPU_ONLINE);
	case ISOLATOR_WHY_NO_MEMORY:
		return topology->facts[cpu].info.node;
	case ISOLATOR_WHY_IRQS:
		return (int)topology->facts[cpu].info.irqs;
	default:
		return (int)cpu;
	}
}

static void add_text(struct isolator_candidate *candidate, const char *text, int number)
{
	size_t length = strlen(candidate->text);
	size_t room = sizeof(candidate->text) - length;
	char clause[128];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(clause, sizeof(clause), text, number);
#pragma GCC diagnostic pop
	snprintf(candidate->text + length, room, "%s%s", length ? "; " : "", clause);
}

static void rate(const struct isolator_topology *topology, unsigned int cpu,
		 struct isolator_candidate *candidate)
{
	uint32_t irqs = topology->facts[cpu].info.irqs;

	*candidate = (struct isolator_candidate){
		.cpu = (int32_t)cpu,
		.score = SCORE_START,
		.why = judge(topology, cpu),
	};
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (!(candidate->why & reasons[i].why))
			continue;
		candidate->score += reasons[i].points;
		add_text(candidate, reasons[i].text,
			 number_of(topology, cpu, reasons[i].why));
	}
	candidate->score -= (int)(irqs < IRQS_MAX ? irqs : IRQS_MAX);
}

/* Those that can be isolated first, then by score; of equals the higher number, as
 * what has no choice starts at the lower ones.
 */
static int compare(const void *a, const void *b)
{
	const struct isolator_candidate *first = a, *second = b;
	bool first_cannot = first->why & ISOLATOR_WHY_CANNOT;
	bool second_cannot = second->why & ISOLATOR_WHY_CANNOT;

	if (first_cannot != second_cannot)
		return first_cannot ? 1 : -1;
	if (first->score != second->score)
		return first->score > second->score ? -1 : 1;
	return first->cpu > second->cpu ? -1 : 1;
}

EXPORT int isolator_topology_best(const struct isolator_topology *topology,
				  struct isolator_candidate *list, size_t room, size_t *count)
{
	struct isolator_candidate *all = calloc(topology->cpu_count, sizeof(*all));
	size_t online = 0;
	int can = 0;

	if (!all)
		return isolator_failed(STEP_TOPOLOGY, ENOMEM);
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		if (!(topology->facts[cpu].info.flags & ISOLATOR_CPU_ONLINE))
			continue;
		rate(topology, cpu, &all[online]);
		can += !(all[online++].why & ISOLATOR_WHY_CANNOT);
	}
	qsort(all, online, sizeof(*all), compare);
	if (room > online)
		room = online;
	if (room)
		memcpy(list, all, room * sizeof(*list));
	if (count)
		*count = room;
	free(all);
	return can;
}
