// SPDX-License-Identifier: LGPL-2.1-or-later
/* The CPUs of made-up machines, and of this one; garbled files; which CPU is best. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <isolator.h>

#include "check.h"
#include "tree.h"

#define ROWS	64

static const char *root;
static struct isolator_topology *topology;

static void before(void)
{
	isolator_topology_free(topology);
	topology = NULL;
	root = tree_new();
}

static int read_tree(void)
{
	struct isolator_topology_options options = ISOLATOR_TOPOLOGY_OPTIONS_INIT;

	isolator_topology_free(topology);
	topology = NULL;
	options.root = root;
	return isolator_topology_read(&options, &topology);
}

static struct isolator_cpu info(int cpu)
{
	struct isolator_cpu result = ISOLATOR_CPU_INIT;

	CHECK_EQUAL(isolator_topology_cpu(topology, cpu, &result), 0);
	return result;
}

static void check_list(unsigned int flags, const char *want)
{
	char text[256];

	CHECK_EQUAL(isolator_topology_list(topology, flags, text, sizeof(text)), strlen(want));
	if (strcmp(text, want) != 0) {
		printf("# %#x: %s, not %s\n", flags, text, want);
		CHECK(!"list");
	}
}

static struct isolator_candidate rows[ROWS];
static size_t row_count;

static int rank(void)
{
	int can = isolator_topology_best(topology, rows, ROWS, &row_count);

	for (size_t i = 0; i < row_count; i++)
		printf("# CPU %d: %d, %#x: %s\n", rows[i].cpu, rows[i].score, rows[i].why,
		       rows[i].text);
	return can;
}

/* The row of a CPU in the ranking. */
static const struct isolator_candidate *row(int cpu)
{
	static const struct isolator_candidate none = { .cpu = -1, .text = "" };

	for (size_t i = 0; i < row_count; i++)
		if (rows[i].cpu == cpu)
			return &rows[i];
	return &none;
}

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
	/* One without a capacity: nothing can be compared. */
	tree_drop("sys/devices/system/cpu/cpu1/cpu_capacity");
	read_tree();
	check_list(ISOLATOR_CPU_EFFICIENCY, "");
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

/* Each file in turn garbled, and in turn missing: said, and nothing made up. */
static void garbled_and_missing(void)
{
	static const struct {
		const char *path;
		unsigned int garbled;
		unsigned int missing;
	} files[] = {
		{ "sys/devices/system/cpu/possible", 0, 0 },
		{ "sys/devices/system/cpu/isolated", ISOLATOR_TOPOLOGY_NO_BOOT,
		  ISOLATOR_TOPOLOGY_NO_BOOT },
		{ "sys/devices/system/cpu/nohz_full", ISOLATOR_TOPOLOGY_NO_BOOT, 0 },
		{ "sys/fs/cgroup/cpuset.cpus.isolated", ISOLATOR_TOPOLOGY_NO_PARTITIONS,
		  ISOLATOR_TOPOLOGY_NO_PARTITIONS },
		{ "sys/devices/system/node/online", ISOLATOR_TOPOLOGY_NO_NODES,
		  ISOLATOR_TOPOLOGY_NO_NODES },
		{ "sys/devices/system/node/has_memory", 0, 0 },
		{ "sys/devices/system/node/node1/cpulist", ISOLATOR_TOPOLOGY_NO_NODES,
		  ISOLATOR_TOPOLOGY_NO_NODES },
		{ "sys/devices/system/cpu/cpu3/topology/core_cpus_list",
		  ISOLATOR_TOPOLOGY_NO_CORES, ISOLATOR_TOPOLOGY_NO_CORES },
		{ "sys/devices/system/cpu/cpu3/topology/physical_package_id", 0, 0 },
		{ "sys/devices/system/cpu/cpu3/cache/index2/level",
		  ISOLATOR_TOPOLOGY_NO_CACHES, 0 },
		{ "sys/devices/system/cpu/cpu3/cache/index2/shared_cpu_list",
		  ISOLATOR_TOPOLOGY_NO_CACHES, ISOLATOR_TOPOLOGY_NO_CACHES },
		{ "sys/devices/system/cpu/cpu3/cache/index0/level",
		  ISOLATOR_TOPOLOGY_NO_CACHES, ISOLATOR_TOPOLOGY_NO_CACHES },
		{ "proc/thread-self/status", ISOLATOR_TOPOLOGY_NO_AFFINITY,
		  ISOLATOR_TOPOLOGY_NO_AFFINITY },
		{ "proc/interrupts", ISOLATOR_TOPOLOGY_NO_INTERRUPTS,
		  ISOLATOR_TOPOLOGY_NO_INTERRUPTS },
		{ "proc/isolator/status", ISOLATOR_TOPOLOGY_NO_ISOLATOR,
		  ISOLATOR_TOPOLOGY_NO_ISOLATOR },
	};
	static const char *const garbage[] = {
		"3-\n", "-3\n", "3-1\n", "0-8192\n", "1,,2\n", "1,\n", "0x3\n", "what\n",
		"99999999999999999999\n", "0-3 junk\n",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		before();
		tree_server();
		for (size_t j = 0; j < sizeof(garbage) / sizeof(garbage[0]); j++) {
			char text[128];

			/* Garbage where the list is, in files that have more. */
			snprintf(text, sizeof(text), "%s%s",
				 strstr(files[i].path, "thread-self") ? "Cpus_allowed_list:\t" :
				 strstr(files[i].path, "isolator") ? "allowed " : "", garbage[j]);
			tree_put(text, "%s", files[i].path);
			CHECK_EQUAL(read_tree(), files[i].garbled);
			CHECK(topology && isolator_topology_best(topology, rows, ROWS,
								 &row_count) > 0);
			if (check_failed) {
				printf("# %s: %s\n", files[i].path, garbage[j]);
				return;
			}
		}
		tree_drop("%s", files[i].path);
		CHECK_EQUAL(read_tree(), files[i].missing);
		if (check_failed) {
			printf("# %s is missing\n", files[i].path);
			return;
		}
	}
}

static void unknown_is_said(void)
{
	tree_server();
	tree_drop("sys/devices/system/cpu/cpu3/topology/core_cpus_list");
	read_tree();
	rank();
	CHECK_EQUAL(info(3).core, -1);
	CHECK_EQUAL(info(3).threads, 0);
	CHECK(row(3)->why & ISOLATOR_WHY_UNKNOWN_SIBLING);
	CHECK(!(row(3)->why & (ISOLATOR_WHY_OWN_CORE | ISOLATOR_WHY_QUIET_SIBLING)));
	/* Under its old name; a list that lacks the CPU itself is none. */
	tree_put("3,11\n", "sys/devices/system/cpu/cpu3/topology/thread_siblings_list");
	tree_put("8-9\n", "sys/devices/system/cpu/cpu1/topology/core_cpus_list");
	CHECK_EQUAL(read_tree(), ISOLATOR_TOPOLOGY_NO_CORES);
	CHECK_EQUAL(info(3).core, 3);
	CHECK_EQUAL(info(1).core, -1);
	/* No affinity: all that are online. */
	tree_drop("proc/thread-self/status");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_AFFINITY);
	check_list(ISOLATOR_CPU_ALLOWED, "0-15");
	tree_put("Cpus_allowed_list:\t1-2\n", "proc/self/status");
	CHECK(!(read_tree() & ISOLATOR_TOPOLOGY_NO_AFFINITY));
	check_list(ISOLATOR_CPU_ALLOWED, "1-2");
	/* What a kernel wrote for an empty list, and a tree of version 1. */
	tree_put("(null)\n", "sys/devices/system/cpu/nohz_full");
	tree_drop("sys/fs/cgroup/cpuset.cpus.isolated");
	tree_put("5\n", "sys/fs/cgroup/unified/cpuset.cpus.isolated");
	CHECK_EQUAL(read_tree(), ISOLATOR_TOPOLOGY_NO_CORES);
	check_list(ISOLATOR_CPU_NOHZ_FULL, "");
	check_list(ISOLATOR_CPU_PARTITION, "5");
	tree_put("nonsense\n", "sys/devices/system/cpu/cpu2/cpu_capacity");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_KINDS);
}

/* Random text in random files: nothing is known of the outcome but that there is one,
 * and that what is known of a CPU stays within bounds.
 */
static void random_text(void)
{
	static const char *const files[] = {
		"sys/devices/system/cpu/online", "sys/devices/system/cpu/possible",
		"sys/devices/system/cpu/isolated", "sys/devices/system/cpu/nohz_full",
		"sys/fs/cgroup/cpuset.cpus.isolated", "sys/devices/cpu_core/cpus",
		"sys/devices/cpu_atom/cpus", "sys/devices/system/node/online",
		"sys/devices/system/node/node0/cpulist",
		"sys/devices/system/cpu/cpu1/topology/core_cpus_list",
		"sys/devices/system/cpu/cpu1/topology/physical_package_id",
		"sys/devices/system/cpu/cpu1/cpu_capacity",
		"sys/devices/system/cpu/cpu1/cache/index2/level",
		"sys/devices/system/cpu/cpu1/cache/index2/size",
		"sys/devices/system/cpu/cpu1/cache/index2/shared_cpu_list",
		"proc/thread-self/status", "proc/interrupts", "proc/isolator/status",
	};
	static const char letters[] = "0123456789,--\n\n :\tKCPU";
	unsigned int random = (unsigned int)getpid(), read = 0;

	printf("# seed %u\n", random);
	tree_vm();
	for (int round = 0; round < 3000 && !check_failed; round++) {
		char text[48];
		size_t length;

		/* Now and then the machine is well again. */
		if (round % 20 == 0)
			tree_vm();
		random = random * 1664525 + 1013904223;
		length = (random >> 8) % (sizeof(text) - 1);
		for (size_t at = 0; at < length; at++) {
			random = random * 1664525 + 1013904223;
			text[at] = letters[(random >> 8) % (sizeof(letters) - 1)];
		}
		text[length] = 0;
		tree_put(text, "%s", files[(random >> 16) % (sizeof(files) / sizeof(files[0]))]);
		if (read_tree() < 0)
			continue;
		read++;
		CHECK(isolator_topology_best(topology, rows, ROWS, &row_count) >= 0);
		CHECK(row_count >= 1);
		for (size_t i = 0; i < row_count; i++) {
			struct isolator_cpu cpu = info(rows[i].cpu);

			CHECK(cpu.flags & ISOLATOR_CPU_ONLINE);
			CHECK(cpu.core <= cpu.cpu && cpu.core >= -1);
			CHECK(cpu.capacity <= 1024);
			CHECK(strlen(rows[i].text) > 0);
		}
	}
	CHECK(read > 100);
}

static void refused(int result, int error, const char *word)
{
	CHECK_EQUAL(result, -error);
	if (!strstr(isolator_strerror(result), word)) {
		printf("# \"%s\" does not name %s\n", isolator_strerror(result), word);
		CHECK(!"text");
	}
}

static void errors(void)
{
	struct isolator_topology_options options = ISOLATOR_TOPOLOGY_OPTIONS_INIT;
	struct isolator_cpu cpu = ISOLATOR_CPU_INIT;
	struct {
		struct isolator_topology_options known;
		void *newer;
	} large = { ISOLATOR_TOPOLOGY_OPTIONS_INIT, &large };
	char text[8];

	refused(read_tree(), ENOENT, "mount sysfs");
	tree_put("all of them\n", "sys/devices/system/cpu/online");
	refused(read_tree(), EBADMSG, "0-3");
	tree_put("\n", "sys/devices/system/cpu/online");
	refused(read_tree(), EBADMSG, "capture");
	refused(isolator_topology_read(NULL, NULL), EINVAL, "INIT");
	options.flags = 1;
	refused(isolator_topology_read(&options, &topology), EINVAL, "flags");
	options.flags = 0;
	options.size = 4;
	refused(isolator_topology_read(&options, &topology), EINVAL, "INIT");
	large.known.size = sizeof(large);
	refused(isolator_topology_read(&large.known, &topology), E2BIG, "newer");
	tree_vm();
	read_tree();
	refused(isolator_topology_cpu(topology, 2, &cpu), ENODEV, "no CPU of that number");
	refused(isolator_topology_cpu(topology, -1, &cpu), ENODEV, "no CPU");
	/* An older caller's structure is filled as far as it goes. */
	cpu.size = offsetof(struct isolator_cpu, core);
	cpu.core = 77;
	CHECK_EQUAL(isolator_topology_cpu(topology, 1, &cpu), 0);
	CHECK_EQUAL(cpu.cpu, 1);
	CHECK_EQUAL(cpu.core, 77);
	CHECK_EQUAL(cpu.size, offsetof(struct isolator_cpu, core));
	cpu.size = 0;
	refused(isolator_topology_cpu(topology, 1, &cpu), EINVAL, "INIT");
	/* A list that does not fit is cut, and its length is told. */
	CHECK_EQUAL(isolator_topology_list(topology, ISOLATOR_CPU_ONLINE, text, 2), 3);
	CHECK(strcmp(text, "0") == 0);
	CHECK_EQUAL(isolator_topology_list(topology, ISOLATOR_CPU_ONLINE, NULL, 0), 3);
	isolator_topology_free(NULL);
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
	{ "who may, and who must stay", who_may_and_who_must_stay },
	{ "each file garbled, each missing", garbled_and_missing },
	{ "what is not known is said", unknown_is_said },
	{ "random text in random files", random_text },
	{ "errors", errors },
	{ "this machine", this_machine },
};

int main(void)
{
	int result = check_run(tests, sizeof(tests) / sizeof(tests[0]), before);

	isolator_topology_free(topology);
	tree_remove();
	return result;
}
