// SPDX-License-Identifier: GPL-2.0-or-later
/* Frequencies and idle states. */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/text.h"

#define CPU "/sys/devices/system/cpu"
#define WAKE_US_MAX 10	/* above the shallow states, below those that lose caches */

/* Finds the CPUs whose file @name holds neither "performance" nor @same, which means it, too. */
static void find_saving(struct audit *audit, const char *name, const char *same)
{
	for (int cpu = -1; (cpu = cpulist_next(&audit->cpus, cpu)) >= 0;) {
		const struct capture_file *file = audit_file(audit, CPU "/cpu%d/cpufreq/%s", cpu,
							     name);

		if (file && strcmp(file->value, "performance") && strcmp(file->value, same))
			audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT,
				  "performance");
	}
}

static void find_governor(struct audit *audit)
{
	find_saving(audit, "scaling_governor", "performance");
}

static void find_preference(struct audit *audit)
{
	find_saving(audit, "energy_performance_preference", "0");
}

static void find_turbo(struct audit *audit)
{
	int64_t on;
	const struct capture_file *file = audit_number(audit, &on, CPU "/intel_pstate/no_turbo");

	if (file && !on)
		audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "1");
	audit_zero(audit, CPU "/cpufreq/boost");
}

/* The longest wake-up that somebody has asked for, in us; INT64_MAX: nobody has. */
static int64_t asked_for(struct audit *audit, int cpu)
{
	const struct capture_file *one, *all;
	int64_t least = INT64_MAX, us;
	int32_t global;
	char *end;

	/* As root has left it in sysfs: "n/a" is none at all, 0 is no limit. */
	one = audit_file(audit, CPU "/cpu%d/power/pm_qos_resume_latency_us", cpu);
	if (one && !strcmp(one->value, "n/a"))
		return 0;
	if (one) {
		us = strtoll(one->value, &end, 10);
		if (end != one->value && us > 0)
			least = us;
	}
	/* As programs hold it while they run: a binary number. */
	all = audit_file(audit, "/dev/cpu_dma_latency");
	if (all && all->size == sizeof(global)) {
		memcpy(&global, all->text, sizeof(global));
		if (global >= 0 && global < least)
			least = global;
	}
	return least;
}

static void find_deep_states(struct audit *audit)
{
	for (int cpu = -1; (cpu = cpulist_next(&audit->cpus, cpu)) >= 0;) {
		int64_t limit = asked_for(audit, cpu);
		size_t count;
		char **states = audit_names(audit, &count, CPU "/cpu%d/cpuidle", cpu);

		for (size_t i = 0; i < count; i++) {
			const struct capture_file *latency, *file;
			int64_t us, off;

			latency = audit_number(audit, &us, CPU "/cpu%d/cpuidle/%s/latency", cpu,
					       states[i]);
			if (!latency || us <= WAKE_US_MAX || us > limit)
				continue;
			file = audit_number(audit, &off, CPU "/cpu%d/cpuidle/%s/disable", cpu,
					    states[i]);
			if (file && !off)
				audit_set(audit_find(audit, file->path, file->value),
					  SETTING_TEXT, "1");
		}
		capture_names_free(states, count);
	}
}

/* Of ACPI's cpufreq on arm64: the counters lie in each CPU, and only it can read them. */
static void find_counter_reads(struct audit *audit)
{
	int64_t off;
	const struct capture_file *file = audit_number(audit, &off,
		"/sys/module/cppc_cpufreq/parameters/fie_disabled");

	/* -1: not decided, as the driver has no CPU. */
	if (file && !off)
		audit_boot_with(audit_find(audit, file->path, file->value),
				"cppc_cpufreq.fie_disabled=1");
}

static const struct audit_check checks[] = {
	{ "power.governor", AUDIT_WARNING, false,
	  "the CPU slows down when it has little to do, and a change of frequency may stop it for microseconds",
	  find_governor },
	{ "power.preference", AUDIT_WARNING, false,
	  "the processor itself trades speed for energy", find_preference },
	{ "power.turbo", AUDIT_INFO, false,
	  "the speed of the CPU depends on the load and the heat of the others, so the time that the same work takes varies",
	  find_turbo },
	{ "power.idle-state", AUDIT_WARNING, false,
	  "the CPU takes more than 10 us to wake up from this idle state", find_deep_states },
	{ "power.counter-reads", AUDIT_WARNING, true,
	  "at each tick of a CPU a kernel thread reads that CPU's activity counters (AMU), by an interrupt to it",
	  find_counter_reads },
	{ 0 },
};

const struct audit_group audit_power = { "Power", checks };
