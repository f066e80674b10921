// SPDX-License-Identifier: LGPL-2.1-or-later
/* The CPUs of made-up machines, and of this one; which CPU is best. */
#include "snapshot.h"

static void vm(void)
{
	tree_vm();
	CHECK_EQUAL(read_tree(), ISOLATOR_TOPOLOGY_NO_ISOLATOR);
	CHECK_EQUAL(isolator_topology_cpu(topology, 0, NULL), 2);
	check_list(ISOLATOR_CPU_POSSIBLE, "0-1");
	check_list(ISOLATOR_CPU_ONLINE | ISOLATOR_CPU_ALLOWED | ISOLATOR_CPU_HOUSEKEEPING, "0-1");
	check_list(ISOLATOR_CPU_PERFORMANCE, "");
	CHECK_EQUAL(info(0).irqs, 1);
	CHECK_EQUAL(info(0).interrupts, 15);
	CHECK_EQUAL(info(1).irqs, 1);
	CHECK_EQUAL(info(1).interrupts, 15);
	CHECK_EQUAL(info(1).core, 1);
	CHECK_EQUAL(info(1).threads, 1);
	CHECK_EQUAL(info(1).l2_cpus, 1);
	CHECK_EQUAL(info(1).l3_cpus, 2);
	CHECK_EQUAL(info(1).node, 0);
	CHECK_EQUAL(info(1).die, -1);
	CHECK_EQUAL(isolator_topology_shared(topology, 0, 1),
		    ISOLATOR_SHARE_L3 | ISOLATOR_SHARE_PACKAGE | ISOLATOR_SHARE_NODE);
	CHECK_EQUAL(rank(), 2);
	CHECK_EQUAL(row_count, 2);
	CHECK_EQUAL(rows[0].cpu, 1);
	CHECK_EQUAL(rows[0].why, ISOLATOR_WHY_OWN_CORE | ISOLATOR_WHY_OWN_L2 | ISOLATOR_WHY_IRQS);
	CHECK(strstr(rows[0].text, "device interrupts directed at it: 1") != NULL);
	CHECK(rows[1].why & ISOLATOR_WHY_BOOT_CPU);
	CHECK(strstr(rows[1].text, "boot CPU") != NULL);
}

/* What is online is possible, whatever the file says. */
static void online_is_possible(void)
{
	tree_vm();
	tree_put("0\n", "sys/devices/system/cpu/possible");
	read_tree();
	check_list(ISOLATOR_CPU_POSSIBLE | ISOLATOR_CPU_ONLINE, "0-1");
}

static void caches(void)
{
	struct isolator_cache cache = ISOLATOR_CACHE_INIT;

	tree_vm();
	read_tree();
	CHECK_EQUAL(isolator_topology_cache(topology, 1, 0, &cache), 0);
	CHECK_EQUAL(cache.level, 1);
	CHECK_EQUAL(cache.type, ISOLATOR_CACHE_DATA);
	CHECK_EQUAL(cache.bytes, 48 << 10);
	CHECK_EQUAL(cache.line, 64);
	CHECK_EQUAL(cache.first, 1);
	CHECK_EQUAL(cache.cpus, 1);
	CHECK_EQUAL(isolator_topology_cache(topology, 1, 1, &cache), 0);
	CHECK_EQUAL(cache.type, ISOLATOR_CACHE_INSTRUCTION);
	CHECK_EQUAL(isolator_topology_cache(topology, 1, 3, &cache), 0);
	CHECK_EQUAL(cache.level, 3);
	CHECK_EQUAL(cache.bytes, 24 << 20);
	CHECK_EQUAL(cache.first, 0);
	CHECK_EQUAL(cache.cpus, 2);
	CHECK_EQUAL(isolator_topology_cache(topology, 1, 4, &cache), -ENXIO);
	CHECK(strstr(isolator_strerror(ENXIO), "no more caches") != NULL);
	CHECK_EQUAL(isolator_topology_cache(topology, 2, 0, &cache), -ENODEV);
	cache.size = 0;
	CHECK_EQUAL(isolator_topology_cache(topology, 1, 0, &cache), -EINVAL);
}

static void laptop(void)
{
	tree_laptop();
	CHECK_EQUAL(read_tree(), ISOLATOR_TOPOLOGY_NO_ISOLATOR);
	check_list(ISOLATOR_CPU_PERFORMANCE, "0-7");
	check_list(ISOLATOR_CPU_EFFICIENCY, "8-15");
	CHECK_EQUAL(info(5).core, 4);
	CHECK_EQUAL(info(5).threads, 2);
	CHECK_EQUAL(info(5).highest_perf, 62);
	CHECK_EQUAL(info(9).threads, 1);
	CHECK_EQUAL(info(9).l2_cpus, 4);
	CHECK(isolator_topology_shared(topology, 4, 5) & ISOLATOR_SHARE_CORE);
	CHECK(!(isolator_topology_shared(topology, 5, 6) & ISOLATOR_SHARE_CORE));
	CHECK(isolator_topology_shared(topology, 8, 11) & ISOLATOR_SHARE_L2);
	CHECK(!(isolator_topology_shared(topology, 11, 12) & ISOLATOR_SHARE_L2));
	CHECK_EQUAL(rank(), 16);
	/* Performance core; the wifi's interrupt goes to 6; the highest of equals. */
	CHECK_EQUAL(rows[0].cpu, 7);
	CHECK(rows[0].why & ISOLATOR_WHY_BUSY_SIBLING);
	CHECK(strstr(rows[0].text, "busy CPU 6 (take that one offline)") != NULL);
	CHECK(row(6)->score < row(5)->score);
	CHECK(row(6)->why & ISOLATOR_WHY_IRQS);
	CHECK(row(9)->why & ISOLATOR_WHY_EFFICIENCY);
	CHECK(strstr(row(9)->text, "with another core, CPU 8") != NULL);
	CHECK(row(9)->score < row(7)->score);
	CHECK_EQUAL(rows[15].cpu, 0);
	CHECK(row(1)->why & ISOLATOR_WHY_BOOT_SIBLING);
	CHECK(row(1)->score < row(3)->score);
	/* With the sibling offline: a core of its own. */
	tree_put("0-5,7-15\n", "sys/devices/system/cpu/online");
	tree_put("7\n", "sys/devices/system/cpu/cpu7/topology/core_cpus_list");
	tree_put("CPU0\n", "proc/interrupts");
	read_tree();
	CHECK_EQUAL(rank(), 15);
	CHECK_EQUAL(rows[0].cpu, 7);
	CHECK(rows[0].why & ISOLATOR_WHY_OWN_CORE);
	CHECK_EQUAL(row(6)->cpu, -1);
}

/* The same machine without the PMUs' lists: the firmware's figures tell. */
static void laptop_by_firmware(void)
{
	tree_laptop();
	tree_drop("sys/devices/cpu_core/cpus");
	read_tree();
	check_list(ISOLATOR_CPU_PERFORMANCE, "0-7");
	check_list(ISOLATOR_CPU_EFFICIENCY, "8-15");
	/* Favoured cores alone make no other kind. */
	for (int cpu = 8; cpu < 16; cpu++)
		tree_put("55\n", "sys/devices/system/cpu/cpu%d/acpi_cppc/highest_perf", cpu);
	read_tree();
	check_list(ISOLATOR_CPU_EFFICIENCY, "");
	/* One without a figure: nothing can be compared. */
	tree_put("20\n", "sys/devices/system/cpu/cpu8/acpi_cppc/highest_perf");
	tree_drop("sys/devices/system/cpu/cpu9/acpi_cppc/highest_perf");
	read_tree();
	check_list(ISOLATOR_CPU_EFFICIENCY, "");
}

static void server(void)
{
	tree_server();
	CHECK_EQUAL(read_tree(), 0);
	CHECK_EQUAL(isolator_topology_cpu(topology, 0, NULL), 32);
	check_list(ISOLATOR_CPU_POSSIBLE, "0-31");
	check_list(ISOLATOR_CPU_ONLINE, "0-15");
	check_list(ISOLATOR_CPU_ISOLCPUS | ISOLATOR_CPU_NOHZ_FULL, "2-3,10-11");
	check_list(ISOLATOR_CPU_PARTITION, "6-7,14-15");
	check_list(ISOLATOR_CPU_PERMITTED, "3,7");
	check_list(ISOLATOR_CPU_ISOLATED, "7");
	check_list(ISOLATOR_CPU_HOUSEKEEPING, "0-1,4-5,8-9,12-13");
	CHECK_EQUAL(info(5).node, 1);
	CHECK_EQUAL(info(5).package, 1);
	CHECK_EQUAL(info(13).die, 4);
	CHECK_EQUAL(info(20).node, -1);
	CHECK_EQUAL(info(20).core, -1);
	CHECK_EQUAL(isolator_topology_shared(topology, 5, 13),
		    ISOLATOR_SHARE_CORE | ISOLATOR_SHARE_L2 | ISOLATOR_SHARE_L3 |
		    ISOLATOR_SHARE_DIE | ISOLATOR_SHARE_PACKAGE | ISOLATOR_SHARE_NODE);
	CHECK_EQUAL(isolator_topology_shared(topology, 3, 4), 0);
	CHECK_EQUAL(isolator_topology_shared(topology, 3, 99), -ENODEV);
	/* 7 is taken, so 3: permitted, unscheduled, its sibling is kept free too. */
	CHECK_EQUAL(rank(), 15);
	CHECK_EQUAL(rows[0].cpu, 3);
	CHECK_EQUAL(rows[0].why,
		    ISOLATOR_WHY_PERMITTED | ISOLATOR_WHY_UNSCHEDULED | ISOLATOR_WHY_NOHZ_FULL |
		    ISOLATOR_WHY_QUIET_SIBLING | ISOLATOR_WHY_OWN_L2 | ISOLATOR_WHY_NO_IRQS);
	CHECK(strstr(rows[0].text, "CPU 11, which is kept free too") != NULL);
	CHECK(row(6)->why & ISOLATOR_WHY_NOT_PERMITTED);
	CHECK(strstr(row(6)->text, "echo 6 > /proc/isolator/cpus") != NULL);
	CHECK_EQUAL(rows[15].cpu, 7);
	CHECK(rows[15].why & ISOLATOR_WHY_TAKEN);
	CHECK(rows[15].why & ISOLATOR_WHY_CANNOT);
	/* Fewer are asked for than there are. */
	CHECK_EQUAL(isolator_topology_best(topology, rows, 2, &row_count), 15);
	CHECK_EQUAL(row_count, 2);
	CHECK_EQUAL(isolator_topology_best(topology, NULL, 0, NULL), 15);
	/* A node without memory. */
	tree_put("0\n", "sys/devices/system/node/has_memory");
	read_tree();
	rank();
	CHECK(row(5)->why & ISOLATOR_WHY_NO_MEMORY);
	CHECK(strstr(row(5)->text, "node 1 has no memory") != NULL);
	CHECK(!(row(1)->why & ISOLATOR_WHY_NO_MEMORY));
}

static void board(void)
{
	tree_board();
	CHECK_EQUAL(read_tree(), ISOLATOR_TOPOLOGY_NO_ISOLATOR);
	check_list(ISOLATOR_CPU_EFFICIENCY, "0-3");
	check_list(ISOLATOR_CPU_PERFORMANCE, "4-5");
	CHECK_EQUAL(info(4).capacity, 1024);
	CHECK_EQUAL(info(4).cluster, 4);
	CHECK_EQUAL(info(3).l3_cpus, 0);
	CHECK_EQUAL(info(3).irqs, 1);
	CHECK_EQUAL(rank(), 6);
	CHECK_EQUAL(rows[0].cpu, 5);
	CHECK(rows[0].why & ISOLATOR_WHY_PERFORMANCE);
	CHECK(isolator_topology_shared(topology, 4, 5) & ISOLATOR_SHARE_CLUSTER);
	/* Nine tenths of the fastest are of its kind. */
	for (int cpu = 0; cpu < 6; cpu++)
		tree_put(cpu < 4 ? "900\n" : "1000\n", "sys/devices/system/cpu/cpu%d/cpu_capacity",
			 cpu);
	read_tree();
	check_list(ISOLATOR_CPU_EFFICIENCY, "");
	check_list(ISOLATOR_CPU_PERFORMANCE, "");
	tree_put("899\n", "sys/devices/system/cpu/cpu0/cpu_capacity");
	read_tree();
	check_list(ISOLATOR_CPU_EFFICIENCY, "0");
	check_list(ISOLATOR_CPU_PERFORMANCE, "1-5");
	/* One without a capacity: nothing can be compared. */
	tree_drop("sys/devices/system/cpu/cpu1/cpu_capacity");
	read_tree();
	check_list(ISOLATOR_CPU_EFFICIENCY, "");
}

/* Beyond some more of them make no difference. */
static void many_interrupts(void)
{
	char text[4096] = "CPU0 CPU1 CPU2 CPU3 CPU4 CPU5\n";
	size_t at = strlen(text);

	tree_board();
	for (unsigned int irq = 0; irq < 19 + 20 + 40; irq++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%3u: 7 0 0 0 0 0 GICv3 %u eth%u\n", 100 + irq, irq, irq);
		tree_put(irq < 19 ? "1\n" : irq < 39 ? "2\n" : "3\n",
			 "proc/irq/%u/effective_affinity_list", 100 + irq);
	}
	tree_put(text, "proc/interrupts");
	read_tree();
	CHECK_EQUAL(info(1).irqs, 19);
	CHECK_EQUAL(info(2).irqs, 20);
	CHECK_EQUAL(info(3).irqs, 40);
	rank();
	CHECK_EQUAL(row(1)->score, row(2)->score + 1);
	CHECK_EQUAL(row(3)->score, row(2)->score);
	CHECK(strstr(row(3)->text, "device interrupts directed at it: 40") != NULL);
}

static void who_may_and_who_must_stay(void)
{
	/* One CPU is all that the thread may use. */
	tree_vm();
	tree_put("Cpus_allowed_list:\t0\n", "proc/thread-self/status");
	read_tree();
	CHECK_EQUAL(rank(), 1);
	CHECK_EQUAL(rows[0].cpu, 0);
	CHECK_EQUAL(rows[1].why & ISOLATOR_WHY_CANNOT, ISOLATOR_WHY_NOT_ALLOWED);
	/* The other one is isolated: this one must stay. */
	tree_vm();
	tree_put("version 1\nallowed 0-1\nisolated 1\n", "proc/isolator/status");
	CHECK_EQUAL(read_tree(), 0);
	CHECK_EQUAL(rank(), 0);
	CHECK_EQUAL(row(0)->why & ISOLATOR_WHY_CANNOT, ISOLATOR_WHY_LAST);
	CHECK_EQUAL(row(1)->why & ISOLATOR_WHY_CANNOT, ISOLATOR_WHY_TAKEN);
	CHECK(strstr(row(0)->text, "one must stay") != NULL);
	/* A machine of one. */
	tree_put("0\n", "sys/devices/system/cpu/online");
	tree_put("version 1\nallowed \nisolated \n", "proc/isolator/status");
	read_tree();
	CHECK_EQUAL(rank(), 0);
	CHECK_EQUAL(row_count, 1);
	CHECK(rows[0].why & ISOLATOR_WHY_LAST);
	check_list(ISOLATOR_CPU_ONLINE, "0");
	check_list(ISOLATOR_CPU_POSSIBLE, "0-1");
}

/* This machine, against what other interfaces say. */
static void this_machine(void)
{
	cpu_set_t allowed;
	int online = 0;
	int missing;

	isolator_topology_free(topology);
	topology = NULL;
	missing = isolator_topology_read(NULL, &topology);
	CHECK(missing >= 0);
	CHECK(!(missing & ISOLATOR_TOPOLOGY_NO_AFFINITY));
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < isolator_topology_cpu(topology, 0, NULL); cpu++) {
		struct isolator_cpu here = ISOLATOR_CPU_INIT;

		if (isolator_topology_cpu(topology, cpu, &here) < 0)
			continue;
		online += here.flags & ISOLATOR_CPU_ONLINE ? 1 : 0;
		CHECK_EQUAL(!!(here.flags & ISOLATOR_CPU_ALLOWED), !!CPU_ISSET(cpu, &allowed));
	}
	CHECK_EQUAL(online, sysconf(_SC_NPROCESSORS_ONLN));
	rank();
	CHECK_EQUAL(row_count, online);
}

static const struct test tests[] = {
	{ "a virtual machine of 2 CPUs", vm },
	{ "what is online is possible", online_is_possible },
	{ "caches", caches },
	{ "a laptop: two kinds of cores, threads", laptop },
	{ "the same by its firmware's figures", laptop_by_firmware },
	{ "a server: 2 nodes, CPUs kept free and isolated", server },
	{ "a board: big and small cores", board },
	{ "more interrupts than count", many_interrupts },
	{ "who may, and who must stay", who_may_and_who_must_stay },
	{ "this machine", this_machine },
};

int main(void)
{
	int result = check_run_each(tests, sizeof(tests) / sizeof(tests[0]), before);

	isolator_topology_free(topology);
	tree_remove();
	return result;
}
