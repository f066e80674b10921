// SPDX-License-Identifier: LGPL-2.1-or-later
/* Machines made of files. */
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree.h"

#define CPU	"sys/devices/system/cpu/cpu%d/"

static char root[64];

static int drop_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

void tree_remove(void)
{
	if (root[0])
		nftw(root, drop_one, 16, FTW_DEPTH | FTW_PHYS);
	root[0] = 0;
}

const char *tree_new(void)
{
	tree_remove();
	/* Thousands of small files: in memory, where there is such a place. */
	snprintf(root, sizeof(root), "%s/isolator-tree-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(root)) {
		perror("mkdtemp");
		exit(1);
	}
	return root;
}

static void name_of(char *name, size_t room, const char *path, va_list arguments)
{
	size_t length = (size_t)snprintf(name, room, "%s/", root);

	vsnprintf(name + length, room - length, path, arguments);
}

void tree_put(const char *text, const char *path, ...)
{
	char name[512];
	va_list arguments;
	FILE *file;

	va_start(arguments, path);
	name_of(name, sizeof(name), path, arguments);
	va_end(arguments);
	for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(name, 0755);
		*slash = '/';
	}
	file = fopen(name, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
		perror(name);
		exit(1);
	}
}

void tree_drop(const char *path, ...)
{
	char name[512];
	va_list arguments;

	va_start(arguments, path);
	name_of(name, sizeof(name), path, arguments);
	va_end(arguments);
	if (remove(name) < 0) {
		perror(name);
		exit(1);
	}
}

static void put_cache(int cpu, int index, int level, const char *type, const char *size,
		      const char *shared)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", level);
	tree_put(text, CPU "cache/index%d/level", cpu, index);
	tree_put(type, CPU "cache/index%d/type", cpu, index);
	tree_put(size, CPU "cache/index%d/size", cpu, index);
	tree_put(shared, CPU "cache/index%d/shared_cpu_list", cpu, index);
	tree_put("64\n", CPU "cache/index%d/coherency_line_size", cpu, index);
}

/* One CPU with level 1 to 3 caches, its core and package. */
static void put_cpu(int cpu, const char *core, const char *l2, const char *l3,
		    const char *package)
{
	tree_put(core, CPU "topology/core_cpus_list", cpu);
	tree_put(package, CPU "topology/physical_package_id", cpu);
	put_cache(cpu, 0, 1, "Data\n", "48K\n", core);
	put_cache(cpu, 1, 1, "Instruction\n", "32K\n", core);
	put_cache(cpu, 2, 2, "Unified\n", "2048K\n", l2);
	put_cache(cpu, 3, 3, "Unified\n", "24M\n", l3);
}

static void put_machine(const char *online, const char *nodes)
{
	tree_put(online, "sys/devices/system/cpu/online");
	tree_put(online, "sys/devices/system/cpu/possible");
	tree_put("\n", "sys/devices/system/cpu/isolated");
	tree_put(nodes, "sys/devices/system/node/online");
	tree_put(nodes, "sys/devices/system/node/has_memory");
	tree_put("\n", "sys/fs/cgroup/cpuset.cpus.isolated");
}

static void put_affinity(const char *list)
{
	char text[128];

	snprintf(text, sizeof(text), "Name:\ttest\nCpus_allowed:\tffff\nCpus_allowed_list:\t%s\n",
		 list);
	tree_put(text, "proc/thread-self/status");
}

void tree_vm(void)
{
	put_machine("0-1\n", "0\n");
	tree_put("0-1\n", "sys/devices/system/node/node0/cpulist");
	put_affinity("0-1");
	for (int cpu = 0; cpu < 2; cpu++)
		put_cpu(cpu, cpu ? "1\n" : "0\n", cpu ? "1\n" : "0\n", "0-1\n", "0\n");
	tree_put("           CPU0       CPU1       \n"
		 "  4:         10          0  IO-APIC   4-edge      ttyS0\n"
		 " 24:          5         15  PCI-MSIX-0000:00:01.0   0-edge      virtio0\n"
		 "LOC:       1000       1000   Local timer interrupts\n", "proc/interrupts");
	tree_put("0\n", "proc/irq/4/effective_affinity_list");
	tree_put("1\n", "proc/irq/24/effective_affinity_list");
}

void tree_laptop(void)
{
	static const char *const pairs[] = { "0-1\n", "2-3\n", "4-5\n", "6-7\n" };

	put_machine("0-15\n", "0\n");
	tree_put("0-15\n", "sys/devices/system/node/node0/cpulist");
	put_affinity("0-15");
	tree_put("0-7\n", "sys/devices/cpu_core/cpus");
	tree_put("8-15\n", "sys/devices/cpu_atom/cpus");
	for (int cpu = 0; cpu < 16; cpu++) {
		const char *l2 = cpu < 12 ? "8-11\n" : "12-15\n";
		char alone[16];

		snprintf(alone, sizeof(alone), "%d\n", cpu);
		if (cpu < 8)
			put_cpu(cpu, pairs[cpu / 2], pairs[cpu / 2], "0-15\n", "0\n");
		else
			put_cpu(cpu, alone, l2, "0-15\n", "0\n");
		tree_put(cpu >= 8 ? "41\n" : cpu >= 4 ? "62\n" : "60\n",
			 CPU "acpi_cppc/highest_perf", cpu);
	}
	tree_put("CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7 CPU8 CPU9 CPU10 CPU11 CPU12 CPU13 "
		 "CPU14 CPU15\n 16: 0 0 0 0 0 0 9 0 0 0 0 0 0 0 0 0  IO-APIC wifi\n",
		 "proc/interrupts");
	tree_put("6\n", "proc/irq/16/effective_affinity_list");
}

void tree_server(void)
{
	put_machine("0-15\n", "0-1\n");
	tree_put("0-3,8-11\n", "sys/devices/system/node/node0/cpulist");
	tree_put("4-7,12-15\n", "sys/devices/system/node/node1/cpulist");
	tree_put("0-31\n", "sys/devices/system/cpu/possible");
	tree_put("2-3,10-11\n", "sys/devices/system/cpu/isolated");
	tree_put("2-3,10-11\n", "sys/devices/system/cpu/nohz_full");
	tree_put("6-7,14-15\n", "sys/fs/cgroup/cpuset.cpus.isolated");
	put_affinity("0-15");
	tree_put("version 1\nallowed 3,7\nisolated 7\n"
		 "cpu 7 isolated mask 0x7 got 0x7f depth 1\n", "proc/isolator/status");
	for (int cpu = 0; cpu < 16; cpu++) {
		bool second = cpu % 8 >= 4;
		char pair[16];

		snprintf(pair, sizeof(pair), "%d,%d\n", cpu % 8, cpu % 8 + 8);
		put_cpu(cpu, pair, pair, second ? "4-7,12-15\n" : "0-3,8-11\n",
			second ? "1\n" : "0\n");
		tree_put(second ? "4-7,12-15\n" : "0-3,8-11\n", CPU "topology/die_cpus_list", cpu);
	}
	tree_put("CPU0 CPU1 CPU2 CPU3 CPU4 CPU5 CPU6 CPU7 CPU8 CPU9 CPU10 CPU11 CPU12 CPU13 "
		 "CPU14 CPU15\n", "proc/interrupts");
}

void tree_board(void)
{
	put_machine("0-5\n", "0\n");
	tree_put("0-5\n", "sys/devices/system/node/node0/cpulist");
	put_affinity("0-5");
	for (int cpu = 0; cpu < 6; cpu++) {
		char alone[16];

		snprintf(alone, sizeof(alone), "%d\n", cpu);
		tree_put(alone, CPU "topology/core_cpus_list", cpu);
		tree_put(cpu < 4 ? "0-3\n" : "4-5\n", CPU "topology/cluster_cpus_list", cpu);
		tree_put("0\n", CPU "topology/physical_package_id", cpu);
		tree_put(cpu < 4 ? "446\n" : "1024\n", CPU "cpu_capacity", cpu);
		put_cache(cpu, 0, 2, "Unified\n", "512K\n", cpu < 4 ? "0-3\n" : "4-5\n");
	}
	tree_put("CPU0 CPU1 CPU2 CPU3 CPU4 CPU5\n 10: 7 0 0 0 0 0 GICv3 27 eth0\n",
		 "proc/interrupts");
	/* A kernel that does not tell the effective one. */
	tree_put("0-5\n", "proc/irq/10/smp_affinity_list");
}
