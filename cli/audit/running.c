// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel that runs, how it was built, and how it was booted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/array.h"
#include "base/text.h"
#include "machine/kernels.h"

#define CPU "/sys/devices/system/cpu"

static void find_no_isolator(struct audit *audit)
{
	const struct capture_file *release = audit_file(audit, "/proc/sys/kernel/osrelease");

	if (audit->isolator || !release)
		return;
	audit_advise(audit_find(audit, release->path, release->value), REMEDY_NONE,
		     KERNELS_INSTALL ", and boot it",
		     "boot the present kernel");
}

static void find_not_allowed(struct audit *audit)
{
	struct cpulist allowed;
	const struct capture_file *file = audit_list(audit, &allowed, "/proc/isolator/cpus");
	char *both;

	if (!file || cpulist_within(&audit->cpus, &allowed))
		return;
	cpulist_union(&allowed, &audit->cpus);
	both = cpulist_text(&allowed);
	audit_set(audit_find(audit, file->path, file->value), SETTING_ADDED, "%s", both);
	free(both);
}

static bool is_built_with(struct audit *audit, const char *option)
{
	const char *value = audit_config(audit, option);

	return value && !strcmp(value, "y");
}

/* A finding, if the kernel is built with @option; else NULL. */
static struct audit_finding *find_option(struct audit *audit, const char *option)
{
	struct audit_finding *finding;
	char *line;

	if (!is_built_with(audit, option))
		return NULL;
	line = text_format("CONFIG_%s=y", option);
	finding = audit_find(audit, audit_config_file(audit)->path, line);
	free(line);
	return finding;
}

static void find_debugging(struct audit *audit)
{
	static const char *const options[] = {
		"PROVE_LOCKING", "DEBUG_LOCK_ALLOC", "LOCK_STAT", "KASAN", "KCSAN", "KMSAN",
		"DEBUG_OBJECTS", "SLUB_DEBUG_ON", "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
		"DEBUG_KMEMLEAK", "DEBUG_ATOMIC_SLEEP", "DEBUG_VM", "DEBUG_PREEMPT",
		"RCU_EQS_DEBUG", "PREEMPTIRQ_DELAY_TEST", "GCOV_KERNEL", "KCOV",
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		struct audit_finding *finding = find_option(audit, options[i]);
		char *fix;

		if (!finding)
			continue;
		fix = text_format("boot a kernel that is built without CONFIG_%s", options[i]);
		audit_advise(finding, REMEDY_NONE, fix, "boot the present kernel");
		free(fix);
	}
}

/* Parameters that take from the kernel what isolation is made of. */
static void find_crippled(struct audit *audit)
{
	static const struct {
		const char *name, *value;
	} bad[] = {
		{ "highres", "off" }, { "nohz", "off" }, { "tsc", "unstable" },
	};
	const struct capture_file *file = audit_file(audit, "/proc/cmdline");

	for (size_t i = 0; file && i < ARRAY_SIZE(bad); i++) {
		char *parameter, *fix, *undo;

		if (!audit_booted(audit, bad[i].name, bad[i].value))
			continue;
		parameter = text_format("%s=%s", bad[i].name, bad[i].value);
		fix = text_format("boot without %s", parameter);
		undo = text_format("boot with %s", parameter);
		audit_advise(audit_find(audit, file->path, parameter), REMEDY_BOOT, fix, undo);
		free(undo);
		free(fix);
		free(parameter);
	}
}

/* @file lists @have, and that is not all CPUs to be isolated. */
static void find_missing(struct audit *audit, const struct capture_file *file,
			 const struct cpulist *have, const char *parameter)
{
	char *cpus;

	if (!file || cpulist_within(&audit->cpus, have))
		return;
	cpus = cpulist_text(&audit->cpus);
	audit_boot_with(audit_find(audit, file->path, file->value), "%s%s", parameter, cpus);
	free(cpus);
}

static void find_tick(struct audit *audit)
{
	const struct capture_file *file;
	struct cpulist have;

	if (audit->isolator)
		return;
	file = capture_read(audit->capture, CPU "/nohz_full");
	if (file->error != ENOENT) {
		file = audit_list(audit, &have, CPU "/nohz_full");
		find_missing(audit, file, &have, "nohz_full=");
		return;
	}
	/* The file beside it is on any machine, though not in any capture. */
	if (audit_file(audit, CPU "/isolated"))
		audit_advise(audit_find(audit, file->path, "there is no such file"),
			     REMEDY_NONE, "boot a kernel with CONFIG_NO_HZ_FULL=y",
			     "boot the present kernel");
}

static void find_balanced(struct audit *audit)
{
	const struct capture_file *file;
	struct cpulist have, partitions;

	if (audit->isolator)
		return;
	file = audit_list(audit, &have, CPU "/isolated");
	if (file && audit_list(audit, &partitions, "/sys/fs/cgroup/cpuset.cpus.isolated"))
		cpulist_union(&have, &partitions);
	find_missing(audit, file, &have, "isolcpus=domain,managed_irq,");
}

/* The list of "rcu_nocbs=", or of "nohz_full=", which brings it along. */
static bool offloaded(struct audit *audit, const char *cmdline)
{
	static const char *const names[] = { "rcu_nocbs=", "nohz_full=" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = strstr(cmdline, names[i]);
		struct cpulist list;
		char *text;
		bool good;

		if (!at || (at > cmdline && at[-1] != ' '))
			continue;
		at += strlen(names[i]);
		text = text_format("%.*s", (int)strcspn(at, " \n"), at);
		good = !strcmp(text, "all") ||
			(cpulist_read(text, &list) && cpulist_within(&audit->cpus, &list));
		free(text);
		if (good)
			return true;
	}
	return false;
}

static void find_callbacks(struct audit *audit)
{
	const struct capture_file *file = audit_file(audit, "/proc/cmdline");
	char *cpus;

	if (audit->isolator || !file || offloaded(audit, file->value))
		return;
	cpus = cpulist_text(&audit->cpus);
	audit_boot_with(audit_find(audit, file->path, file->value), "rcu_nocbs=%s", cpus);
	free(cpus);
}

/* What says that the kernel does not preempt its own code; NULL: it does, or nothing says so. */
static struct audit_finding *not_preempted(struct audit *audit, bool is_asked)
{
	static const struct {
		const char *shown, *booted, *parameter, *option;
	} models[] = {
		{ "(none)", "none", "preempt=none", "PREEMPT_NONE" },
		{ "(voluntary)", "voluntary", "preempt=voluntary", "PREEMPT_VOLUNTARY" },
	};
	const struct capture_file *now = capture_read(audit->capture,
						      "/sys/kernel/debug/sched/preempt");
	struct audit_finding *finding = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(models) && !now->error; i++)
		if (strstr(now->value, models[i].shown))
			return audit_find(audit, now->path, now->value);
	if (!now->error)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(models) && is_asked; i++)
		if (audit_booted(audit, "preempt", models[i].booted))
			return audit_find(audit, "/proc/cmdline", models[i].parameter);
	if (is_asked && (audit_booted(audit, "preempt", "full") ||
			 audit_booted(audit, "preempt", "lazy")))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(models) && !finding; i++)
		finding = find_option(audit, models[i].option);
	return finding;
}

static void find_no_preemption(struct audit *audit)
{
	/* Whether the kernel asks, at boot and later, how it is to be preempted. */
	bool is_asked = is_built_with(audit, "PREEMPT_DYNAMIC");
	struct audit_finding *finding = is_built_with(audit, "PREEMPT_RT") ? NULL :
		not_preempted(audit, is_asked);

	if (finding && is_asked)
		audit_boot_with(finding, "preempt=full");
	else if (finding)
		audit_advise(finding, REMEDY_NONE,
			     "boot a kernel with CONFIG_PREEMPT=y, or one with PREEMPT_RT",
			     "boot the present kernel");
}

static const struct audit_check checks[] = {
	{ "kernel.isolator", AUDIT_WARNING, false,
	  "the kernel has no Isolator: text patching, TLB flushes and other calls from other CPUs interrupt any CPU",
	  find_no_isolator },
	{ "kernel.allowed", AUDIT_WARNING, false,
	  "a program can only isolate CPUs that the administrator allows", find_not_allowed },
	{ "kernel.debugging", AUDIT_WARNING, false,
	  "the kernel is built with debugging options: each kernel entry takes longer, with some of them far longer",
	  find_debugging },
	{ "kernel.preemption", AUDIT_WARNING, true,
	  "this kernel does not preempt its own code: a thread that becomes ready waits until kernel code on its CPU ends, sometimes for milliseconds",
	  find_no_preemption },
	{ "boot.crippled", AUDIT_ERROR, false,
	  "this boot parameter turns off what isolation needs: precise timers, a tick that stops, a stable clock",
	  find_crippled },
	{ "boot.nohz-full", AUDIT_WARNING, false,
	  "the tick interrupts the CPU 100 to 1000 times a second even if only one task runs there",
	  find_tick },
	{ "boot.isolcpus", AUDIT_WARNING, false,
	  "the scheduler places any task on the CPU; a cpuset partition of type isolated also prevents it",
	  find_balanced },
	{ "boot.rcu-nocbs", AUDIT_WARNING, false,
	  "RCU callbacks of the CPU run there, by softirq, whenever a grace period has ended",
	  find_callbacks },
	{ 0 },
};

const struct audit_group audit_boot = { "Kernel and boot", checks };
