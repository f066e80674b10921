// SPDX-License-Identifier: LGPL-2.1-or-later
/* Files that are garbled or missing, wrong calls: told, and nothing made up. */
#include "snapshot.h"

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

/* Kernels that do not list the CPUs of isolated partitions: each cpuset is asked. */
static void partitions_one_by_one(void)
{
	char path[256] = "sys/fs/cgroup";

	tree_vm();
	tree_put("0-3\n", "sys/devices/system/cpu/online");
	tree_put("0-3\n", "sys/devices/system/cpu/possible");
	tree_drop("sys/fs/cgroup/cpuset.cpus.isolated");
	tree_put("cpu io memory\n", "sys/fs/cgroup/cgroup.controllers");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_PARTITIONS);
	tree_put("cpuset cpu io memory\n", "sys/fs/cgroup/cgroup.controllers");
	CHECK(!(read_tree() & ISOLATOR_TOPOLOGY_NO_PARTITIONS));
	check_list(ISOLATOR_CPU_PARTITION, "");
	tree_put("isolated\n", "sys/fs/cgroup/rt.slice/cpuset.cpus.partition");
	tree_put("1\n", "sys/fs/cgroup/rt.slice/cpuset.cpus.effective");
	tree_put("root\n", "sys/fs/cgroup/a.slice/cpuset.cpus.partition");
	tree_put("0\n", "sys/fs/cgroup/a.slice/cpuset.cpus.effective");
	tree_put("isolated invalid (Cpu list empty)\n",
		 "sys/fs/cgroup/b.slice/cpuset.cpus.partition");
	tree_put("2\n", "sys/fs/cgroup/b.slice/cpuset.cpus.effective");
	tree_put("isolated\n", "sys/fs/cgroup/a.slice/deep/cpuset.cpus.partition");
	tree_put("3\n", "sys/fs/cgroup/a.slice/deep/cpuset.cpus.effective");
	CHECK(!(read_tree() & ISOLATOR_TOPOLOGY_NO_PARTITIONS));
	check_list(ISOLATOR_CPU_PARTITION, "1,3");
	check_list(ISOLATOR_CPU_HOUSEKEEPING, "0,2");
	/* One that cannot be read: what is known, and that it is not all. */
	tree_put("all\n", "sys/fs/cgroup/rt.slice/cpuset.cpus.effective");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_PARTITIONS);
	check_list(ISOLATOR_CPU_PARTITION, "3");
	tree_put("1\n", "sys/fs/cgroup/rt.slice/cpuset.cpus.effective");
	/* Deeper than one cares to look. */
	for (int depth = 0; depth < 20; depth++)
		strcat(path, "/d");
	tree_put("\n", "%s/cgroup.procs", path);
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_PARTITIONS);
	check_list(ISOLATOR_CPU_PARTITION, "1,3");
}

/* What is too long, too large, or about CPUs that there are not. */
static void beyond_bounds(void)
{
	static char longest[40000];

	tree_vm();
	/* A list that is longer than any can be, a number too. */
	for (size_t at = 0; at + 3 < sizeof(longest); at += 2)
		memcpy(longest + at, "1,", 2);
	longest[strlen(longest) - 1] = 0;
	tree_put(longest, "sys/devices/system/cpu/isolated");
	memset(longest, '0', 100);
	longest[100] = 0;
	tree_put(longest, "sys/devices/system/cpu/cpu1/topology/physical_package_id");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_BOOT);
	check_list(ISOLATOR_CPU_ISOLCPUS, "");
	CHECK_EQUAL(info(1).package, -1);
	CHECK_EQUAL(info(0).package, 0);
	tree_vm();
	tree_put("77\n", "sys/devices/system/cpu/cpu1/cache/index2/level");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_CACHES);
	CHECK_EQUAL(info(1).l2_cpus, 0);
	tree_vm();
	tree_put("1025\n", "sys/devices/system/cpu/cpu1/cpu_capacity");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_KINDS);
	CHECK_EQUAL(info(1).capacity, 0);
	/* CPUs that have gone, or that a capture of another machine has. */
	tree_vm();
	tree_put("CPU0 CPU8000\n 4: 3 5 x\n", "proc/interrupts");
	tree_put("0-8000\n", "sys/fs/cgroup/cpuset.cpus.isolated");
	tree_put("0-8000\n", "sys/devices/system/node/node0/cpulist");
	CHECK(read_tree() >= 0);
	CHECK_EQUAL(info(0).interrupts, 3);
	check_list(ISOLATOR_CPU_PARTITION, "0-1");
	tree_put("CPU0 CPU8192\n 4: 3 5 x\n", "proc/interrupts");
	CHECK(read_tree() & ISOLATOR_TOPOLOGY_NO_INTERRUPTS);
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

static const struct test tests[] = {
	{ "each file garbled, each missing", garbled_and_missing },
	{ "what is not known is said", unknown_is_said },
	{ "partitions one by one", partitions_one_by_one },
	{ "beyond all bounds", beyond_bounds },
	{ "random text in random files", random_text },
	{ "errors", errors },
};

int main(void)
{
	int result = check_run_each(tests, sizeof(tests) / sizeof(tests[0]), before);

	isolator_topology_free(topology);
	tree_remove();
	return result;
}
