// SPDX-License-Identifier: GPL-2.0-or-later
/* Who else may run on the CPU, and what the programs that want it may do. */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/text.h"

#define FAIR "/sys/kernel/debug/sched/fair_server"
#define WORKQUEUE "/sys/devices/virtual/workqueue"
#define CGROUP "/sys/fs/cgroup"
#define CAP_IPC_LOCK 14
#define CAP_SYS_NICE 23
#define PARTITION_DEPTH 3

static void find_throttling(struct audit *audit)
{
	const struct capture_file *file = audit_file(audit,
						     "/proc/sys/kernel/sched_rt_runtime_us");

	if (file && strcmp(file->value, "-1"))
		audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "-1");
}

static void find_fair_server(struct audit *audit)
{
	for (int cpu = -1; (cpu = cpulist_next(&audit->cpus, cpu)) >= 0;)
		audit_zero(audit, FAIR "/cpu%d/runtime", cpu);
}

static void find_watchdog(struct audit *audit)
{
	/* The last two are its halves, the one by timers and the one by NMIs. */
	static const char *const switches[] = { "watchdog", "soft_watchdog", "nmi_watchdog" };
	struct cpulist watched;
	const struct capture_file *file = audit_list(audit, &watched,
						     "/proc/sys/kernel/watchdog_cpumask");
	bool on = false;

	for (size_t i = 0; i < ARRAY_SIZE(switches); i++) {
		int64_t value;

		if (audit_number(audit, &value, "/proc/sys/kernel/%s", switches[i]) && value)
			on = true;
	}
	if (on)
		audit_spare(audit, file, &watched, SETTING_LIST, true);
}

static void find_unbound_work(struct audit *audit)
{
	struct cpulist mask;
	const struct capture_file *file = audit_mask(audit, &mask, WORKQUEUE "/cpumask");
	size_t count;
	char **queues;

	audit_spare(audit, file, &mask, SETTING_MASK, false);
	/* Each of the others is within that one, as far as it can be. */
	if (file && cpulist_common(&mask, &audit->cpus))
		return;
	queues = audit_names(audit, &count, WORKQUEUE);
	for (size_t i = 0; i < count; i++) {
		file = audit_mask(audit, &mask, WORKQUEUE "/%s/cpumask", queues[i]);
		if (file && cpulist_within(&mask, &audit->cpus))
			audit_spare(audit, file, &mask, SETTING_MASK, false);
	}
	capture_names_free(queues, count);
}

/* The value of "NAME:" in a file of lines; NULL: not there.  To be freed. */
static char *field(const struct capture_file *file, const char *name)
{
	char *line = text_format("\n%s:", name), *value = NULL;
	const char *at = file ? strstr(file->value, line) : NULL;

	if (at) {
		at += strlen(line);
		at += strspn(at, " \t");
		value = text_format("%.*s", (int)strcspn(at, "\n"), at);
	}
	free(line);
	return value;
}

/* kthreadd, from which all other threads of the kernel have theirs. */
static void find_kernel_threads(struct audit *audit)
{
	const struct capture_file *file = audit_file(audit, "/proc/2/status");
	char *allowed = field(file, "Cpus_allowed_list"), *cpus, *fix, *undo;
	struct cpulist list;

	/* In a container, 2 is somebody else. */
	if (allowed && !strncmp(file->value, "Name:\tkthreadd\n", 15) &&
	    cpulist_read(allowed, &list) && cpulist_common(&list, &audit->cpus)) {
		struct audit_finding *finding = audit_find(audit, file->path, allowed);

		cpus = cpulist_text(&audit->cpus);
		fix = text_format("isolator shield set --processes %s", cpus);
		undo = text_format("isolator shield clear --processes %s", cpus);
		audit_advise(finding, REMEDY_COMMAND, fix, undo);
		free(undo);
		free(fix);
		free(cpus);
	}
	free(allowed);
}

/* Looks at the cgroups in @path, and at those in them. */
static void look_partitions(struct audit *audit, const char *path, int depth)
{
	size_t count;
	char **names = audit_directories(audit, &count, path);

	for (size_t i = 0; i < count; i++) {
		const struct capture_file *file;
		char *below;

		/* Without it, neither are there any below; nor in what is no cgroup. */
		file = audit_file(audit, "%s/%s/cpuset.cpus.partition", path, names[i]);
		if (!file)
			continue;
		if (strstr(file->value, "invalid"))
			audit_advise(audit_find(audit, file->path, file->value), REMEDY_NONE,
				     "the value says why in brackets; fix that, then write isolated to this file again",
				     "");
		if (depth > 1) {
			below = text_format("%s/%s", path, names[i]);
			look_partitions(audit, below, depth - 1);
			free(below);
		}
	}
	capture_names_free(names, count);
}

static void find_partitions(struct audit *audit)
{
	look_partitions(audit, CGROUP, PARTITION_DEPTH);
}

static void find_tuner(struct audit *audit)
{
	/* Profiles that are made for this. */
	static const char *const good[] = {
		"realtime", "cpu-partitioning", "network-latency", "latency-performance", "off",
	};
	const struct capture_file *process = capture_process(audit->capture, "tuned");
	const struct capture_file *profile;

	if (!process)
		return;
	profile = audit_file(audit, "/etc/tuned/active_profile");
	for (size_t i = 0; profile && i < ARRAY_SIZE(good); i++)
		if (!strncmp(profile->value, good[i], strlen(good[i])))
			return;
	audit_advise(audit_find(audit, profile ? profile->path : process->path,
				profile ? profile->value : process->value), REMEDY_COMMAND,
		     "systemctl disable --now tuned", "systemctl enable --now tuned");
}

/* A limit of who runs the audit, which @capability lifts. */
static void find_limit(struct audit *audit, const char *name, int capability,
		       int64_t enough, const char *fix)
{
	const struct capture_file *file = audit_file(audit, "/proc/self/limits");
	char *effective = field(audit_file(audit, "/proc/self/status"), "CapEff");
	const char *at = file ? strstr(file->value, name) : NULL;
	bool lifted = effective && strtoull(effective, NULL, 16) >> capability & 1;
	char *line;
	size_t length;

	free(effective);
	if (!at || lifted)
		return;
	line = text_format("%.*s", (int)strcspn(at, "\n"), at);
	length = strlen(name) + strspn(line + strlen(name), " ");
	/* The soft limit: its own word decides. */
	if (strncmp(line + length, "unlimited", 9) &&
	    strtoll(line + length, NULL, 10) < enough) {
		char *value = text_format("%s %.*s", name, (int)strcspn(line + length, " "),
					  line + length);

		audit_advise(audit_find(audit, file->path, value), REMEDY_COMMAND, fix,
			     "rm /etc/security/limits.d/isolator.conf  # then log in again");
		free(value);
	}
	free(line);
}

static void find_lock_limit(struct audit *audit)
{
	find_limit(audit, "Max locked memory", CAP_IPC_LOCK, INT64_MAX,
		   "echo '* - memlock unlimited' >> /etc/security/limits.d/isolator.conf  # then log in again");
}

static void find_priority_limit(struct audit *audit)
{
	find_limit(audit, "Max realtime priority", CAP_SYS_NICE, 1,
		   "echo '* - rtprio 99' >> /etc/security/limits.d/isolator.conf  # then log in again");
}

static const struct audit_check checks[] = {
	/* No more than worth knowing: it is the net below a program that has gone wild. */
	{ "sched.rt-throttling", AUDIT_INFO, false,
	  "the kernel stops a FIFO task that never sleeps for the rest of each period; without this limit, which is one for all CPUs and users, such a task can hang its CPU",
	  find_throttling },
	{ "sched.fair-server", AUDIT_WARNING, true,
	  "when an ordinary task waits for the CPU, the kernel arms a timer there and gives it this many ns of each second",
	  find_fair_server },
	{ "sched.watchdog", AUDIT_WARNING, true,
	  "the lockup detectors use a timer on the CPU, and wake a thread or send an NMI there every few seconds",
	  find_watchdog },
	{ "sched.workqueues", AUDIT_WARNING, true,
	  "unbound kernel work may run on a CPU to isolate", find_unbound_work },
	{ "sched.kernel-threads", AUDIT_WARNING, true,
	  "unbound kernel threads may run on a CPU to isolate",
	  find_kernel_threads },
	{ "sched.partition", AUDIT_WARNING, false,
	  "this cpuset partition is not valid: other tasks may use its CPUs",
	  find_partitions },
	{ "sched.tuned", AUDIT_WARNING, false,
	  "tuned may apply its profile again at any time, and this profile is not made for isolation",
	  find_tuner },
	{ "sched.lock-limit", AUDIT_WARNING, false,
	  "this user's programs cannot lock their memory, so the kernel may take pages away; each costs a page fault",
	  find_lock_limit },
	{ "sched.priority-limit", AUDIT_WARNING, false,
	  "this user's programs cannot have a real-time priority", find_priority_limit },
	{ 0 },
};

const struct audit_group audit_sched = { "Scheduling", checks };
