// SPDX-License-Identifier: LGPL-2.1-or-later
/* What the machine is set to: who may run where, what is isolated, interrupts. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "topology.h"

static void set_flag(struct isolator_topology *topology, const struct cpus *cpus,
		     unsigned int flag)
{
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++)
		if (cpus_has(cpus, cpu))
			topology->facts[cpu].info.flags |= flag;
}

/* The list after @key at the beginning of a line; as isolator_file_cpus(). */
static int list_in(const char *root, struct cpus *cpus, const char *path, const char *key)
{
	FILE *file = isolator_file_open(root, path);
	char *line = NULL;
	size_t room = 0;
	int result = 0;
	ssize_t length;

	if (!file)
		return 0;
	while (result == 0 && (length = getline(&line, &room, file)) > 0) {
		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		result = isolator_cpus_parse(line + strlen(key), cpus) ? 1 : -1;
	}
	free(line);
	fclose(file);
	return result;
}

static void affinity(struct isolator_topology *topology, const char *root)
{
	static const char key[] = "Cpus_allowed_list:\t";
	struct cpus cpus;
	int read = list_in(root, &cpus, "proc/thread-self/status", key);

	if (!read)
		read = list_in(root, &cpus, "proc/self/status", key);
	if (read > 0 && isolator_cpus_first(&cpus) >= 0) {
		set_flag(topology, &cpus, ISOLATOR_CPU_ALLOWED);
		return;
	}
	/* Said, and then taken for the usual: all. */
	topology->missing |= ISOLATOR_TOPOLOGY_NO_AFFINITY;
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++)
		if (topology->facts[cpu].info.flags & ISOLATOR_CPU_ONLINE)
			topology->facts[cpu].info.flags |= ISOLATOR_CPU_ALLOWED;
}

void isolator_topology_states(struct isolator_topology *topology, const char *root)
{
	static const unsigned int kept_free = ISOLATOR_CPU_ISOLCPUS | ISOLATOR_CPU_NOHZ_FULL |
					      ISOLATOR_CPU_PARTITION | ISOLATOR_CPU_ISOLATED;
	struct cpus cpus;

	affinity(topology, root);
	if (isolator_file_cpus(root, &cpus, "sys/devices/system/cpu/isolated") <= 0)
		topology->missing |= ISOLATOR_TOPOLOGY_NO_BOOT;
	set_flag(topology, &cpus, ISOLATOR_CPU_ISOLCPUS);
	/* Not there in a kernel that cannot. */
	if (isolator_file_cpus(root, &cpus, "sys/devices/system/cpu/nohz_full") < 0)
		topology->missing |= ISOLATOR_TOPOLOGY_NO_BOOT;
	set_flag(topology, &cpus, ISOLATOR_CPU_NOHZ_FULL);
	if (!isolator_cgroup_partitions(root, &cpus))
		topology->missing |= ISOLATOR_TOPOLOGY_NO_PARTITIONS;
	set_flag(topology, &cpus, ISOLATOR_CPU_PARTITION);
	if (list_in(root, &cpus, "proc/isolator/status", "allowed ") > 0)
		set_flag(topology, &cpus, ISOLATOR_CPU_PERMITTED);
	else
		topology->missing |= ISOLATOR_TOPOLOGY_NO_ISOLATOR;
	if (list_in(root, &cpus, "proc/isolator/status", "isolated ") > 0)
		set_flag(topology, &cpus, ISOLATOR_CPU_ISOLATED);
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++) {
		struct isolator_cpu *info = &topology->facts[cpu].info;

		if ((info->flags & ISOLATOR_CPU_ONLINE) && !(info->flags & kept_free))
			info->flags |= ISOLATOR_CPU_HOUSEKEEPING;
	}
}

/* The first line names the CPU of each column; returns how many there are. */
static unsigned int read_columns(char *line, unsigned int *columns)
{
	unsigned int count = 0;

	for (char *word = strtok_r(line, " \n", &line); word && count < CPUS_MAX;
	     word = strtok_r(NULL, " \n", &line)) {
		char *end;
		unsigned long cpu;

		if (strncmp(word, "CPU", 3) != 0)
			return 0;
		cpu = strtoul(word + 3, &end, 10);
		if (end == word + 3 || *end || cpu >= CPUS_MAX)
			return 0;
		columns[count++] = (unsigned int)cpu;
	}
	return count;
}

/* One device interrupt: how often each CPU took it, and whom it is directed at. */
static void read_row(struct isolator_topology *topology, const char *root, const char *line,
		     const unsigned int *columns, unsigned int count)
{
	char *at;
	unsigned long number = strtoul(line, &at, 10);
	struct cpus cpus;

	/* Those of the architecture have names. */
	if (at == line || *at++ != ':')
		return;
	for (unsigned int column = 0; column < count; column++) {
		char *end;
		uint64_t taken = strtoull(at, &end, 10);

		if (end == at)
			break;
		at = end;
		if (columns[column] < topology->cpu_count)
			topology->facts[columns[column]].info.interrupts += taken;
	}
	if (isolator_file_cpus(root, &cpus, "proc/irq/%lu/effective_affinity_list", number) <= 0 &&
	    isolator_file_cpus(root, &cpus, "proc/irq/%lu/smp_affinity_list", number) <= 0) {
		topology->missing |= ISOLATOR_TOPOLOGY_NO_INTERRUPTS;
		return;
	}
	for (unsigned int cpu = 0; cpu < topology->cpu_count; cpu++)
		topology->facts[cpu].info.irqs += cpus_has(&cpus, cpu);
}

void isolator_topology_interrupts(struct isolator_topology *topology, const char *root)
{
	FILE *file = isolator_file_open(root, "proc/interrupts");
	unsigned int *columns = calloc(CPUS_MAX, sizeof(*columns));
	unsigned int count = 0;
	char *line = NULL;
	size_t room = 0;

	if (file && columns && getline(&line, &room, file) > 0)
		count = read_columns(line, columns);
	if (!count)
		topology->missing |= ISOLATOR_TOPOLOGY_NO_INTERRUPTS;
	while (count && getline(&line, &room, file) > 0)
		read_row(topology, root, line, columns, count);
	free(line);
	free(columns);
	if (file)
		fclose(file);
}
