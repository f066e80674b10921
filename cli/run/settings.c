// SPDX-License-Identifier: GPL-2.0-or-later
/* Which settings a run changes: those that the audit would have otherwise, and a few. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "machine/task.h"
#include "run/run.h"

#define CPU "/sys/devices/system/cpu/cpu%d"
#define LATENCY "/dev/cpu_dma_latency"
#define STAT_SECONDS "3600"	/* long beyond what is measured, and less than the most */

static const char absent[] = "this kernel does not have it, so it cannot disturb";

/*
 * Findings of the audit that a run mends.  Others are left alone: they are the
 * administrator's own (tracing), or take something away (siblings, turbo).
 */
static const struct row {
	const char *id;
	const char *path;	/* where it stands, with the CPU; NULL: by device */
	const char *missing;	/* what it means if it is not there */
	bool realtime;		/* only with such a policy */
} rows[] = {
	{ "kernel.allowed", NULL, NULL, false },
	{ "irq.affinity", NULL, NULL, false },
	{ "irq.default", "/proc/irq/default_smp_affinity",
	  "new interrupts go where their drivers say", false },
	{ "irq.packets", NULL, NULL, false },
	{ "timer.machine-check", NULL, NULL, false },
	{ "timer.migration", "/proc/sys/kernel/timer_migration", absent, false },
	{ "power.governor", CPU "/cpufreq/scaling_governor",
	  "the kernel does not choose the frequency here", false },
	{ "power.preference", NULL, NULL, false },
	{ "sched.rt-throttling", "/proc/sys/kernel/sched_rt_runtime_us", absent, true },
	{ "sched.fair-server", "/sys/kernel/debug/sched/fair_server/cpu%d/runtime",
	  "debugfs is not mounted, or the kernel is older than 6.12", false },
	{ "sched.watchdog", "/proc/sys/kernel/watchdog_cpumask", absent, false },
	{ "sched.workqueues", "/sys/devices/virtual/workqueue/cpumask",
	  "unbound work may run on the CPU", false },
	{ "memory.merging", "/sys/kernel/mm/ksm/run", absent, false },
	{ "memory.huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled", absent, false },
	{ "memory.huge-page-stalls", "/sys/kernel/mm/transparent_hugepage/defrag", absent, false },
	{ "memory.numa-balancing", "/proc/sys/kernel/numa_balancing", absent, false },
	{ "memory.compaction", "/proc/sys/vm/compaction_proactiveness", absent, false },
	{ "memory.kfence", "/sys/module/kfence/parameters/sample_interval", absent, false },
};

/* What the audit lets pass, but a run does not. */
static const struct extra {
	const char *id;
	const char *path;
	const char *wanted;
	const char *missing;
} extras[] = {
	{ "memory.statistics", "/proc/sys/vm/stat_interval", STAT_SECONDS, absent },
	/* No idle state that takes time to leave. */
	{ "power.idle-state", CPU "/power/pm_qos_resume_latency_us", "n/a",
	  LATENCY " is held open instead, for all CPUs" },
};

/* Adds what is not there, or may not be looked at. */
static bool is_there(struct run *run, struct audit *audit, const char *id, const char *path,
		     const char *missing)
{
	const struct capture_file *file = capture_read(audit->capture, path);

	if (!file->error)
		return true;
	if (file->error == ENOENT)
		*ARRAY_ADD(run->missing, run->nr_missing) = (struct run_missing){
			id, text_format("%s", path), missing, false,
		};
	else if (error_locked_down(path, file->error))
		/* Nobody can change it: that is no reason to run nothing. */
		*ARRAY_ADD(run->missing, run->nr_missing) = (struct run_missing){
			id, text_format("%s", path), ERROR_LOCKED_DOWN, true,
		};
	else
		run_lack(run, path, strerror(file->error), NULL);
	return false;
}

/* The file @format of each CPU that is to be quiet, or the one that has no CPU's. */
static void each(struct run *run, struct audit *audit, const char *format,
		 void (*look)(struct run *, struct audit *, const char *path, const void *row),
		 const void *row)
{
	const char *number = strstr(format, "%d");

	for (int cpu = -1; (cpu = cpulist_next(&run->cpus, cpu)) >= 0;) {
		char *path = number ? text_format("%.*s%d%s", (int)(number - format), format, cpu,
						  number + 2) : text_format("%s", format);

		look(run, audit, path, row);
		free(path);
		if (!number)
			return;
	}
}

static void look_at_row(struct run *run, struct audit *audit, const char *path, const void *data)
{
	const struct row *row = data;

	is_there(run, audit, row->id, path, row->missing);
}

static void add(struct run *run, const char *id, enum setting_kind kind, const char *path,
		const char *wanted, const char *command)
{
	struct run_setting *setting = ARRAY_ADD(run->settings, run->nr_settings);
	int fd = root_open(run->root, path, O_WRONLY);

	*setting = (struct run_setting){
		.id = id,
		.path = text_format("%s", path),
		.wanted = text_format("%s", wanted),
		.change = { .kind = kind },
	};
	setting->change.path = setting->path;
	setting->change.wanted = setting->wanted;
	if (fd < 0)
		run_lack(run, path, strerror(errno), command);
	else
		close(fd);
}

static void look_at_extra(struct run *run, struct audit *audit, const char *path,
			  const void *data)
{
	const struct extra *extra = data;
	const char *have;
	char *command;

	if (!is_there(run, audit, extra->id, path, extra->missing))
		return;
	have = capture_read(audit->capture, path)->value;
	if (!strcmp(have, extra->wanted) ||
	    (isdigit((unsigned char)*extra->wanted) && atol(have) > atol(extra->wanted)))
		return;
	command = setting_command(path, extra->wanted);
	add(run, extra->id, SETTING_TEXT, path, extra->wanted, command);
	free(command);
}

void run_plan(struct run *run, struct audit *audit)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if (row->realtime && run->policy == RUN_OTHER)
			continue;
		if (!strcmp(row->id, "kernel.allowed") && !run->isolate)
			continue;
		if (row->path)
			each(run, audit, row->path, look_at_row, row);
		for (size_t k = 0; k < audit->count; k++) {
			const struct audit_finding *finding = &audit->findings[k];

			if (finding->remedy == REMEDY_WRITE && !strcmp(finding->check->id, row->id))
				add(run, row->id, finding->kind, finding->path, finding->wanted,
				    finding->fix);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(extras); i++)
		each(run, audit, extras[i].path, look_at_extra, &extras[i]);
}

/* Where a CPU has no limit of its own, there is one for all, which lasts as long as it is open. */
static void hold_latency(struct run *run)
{
	const int32_t none = 0;
	bool wanted = false;

	for (size_t i = 0; i < run->nr_missing; i++)
		wanted |= !strcmp(run->missing[i].id, "power.idle-state");
	/* A command that ends before its task cannot hold it. */
	if (!wanted || run->attached)
		return;
	run->latency = root_open(run->root, LATENCY, O_WRONLY);
	if (run->latency >= 0 && file_write_fd(run->latency, &none, sizeof(none))) {
		close(run->latency);
		run->latency = -1;
	}
}

int run_apply(struct run *run)
{
	for (size_t i = 0; i < run->nr_settings; i++)
		if (change_apply(&run->settings[i].change, &run->journal))
			return -1;
	hold_latency(run);
	return 0;
}

static int move_thread(struct run *run, struct task *task)
{
	struct cpulist left = task->cpus;

	/*
	 * Also those that are elsewhere: making a partition sets them all to what is
	 * left, and unmaking it to everything.
	 */
	if (journal_note_task(&run->journal, task))
		return -1;
	if (!cpulist_common(&left, &run->cpus))
		return 0;
	cpulist_minus(&left, &run->cpus);
	if (cpulist_empty(&left))
		left = run->others;
	if (task_set(task, &left))
		run->threads_refused++;
	else
		run->threads_moved++;
	return 0;
}

int run_move_threads(struct run *run)
{
	struct capture capture;
	char **tids;
	size_t count;
	int error = 0;

	if (capture_open(&capture, run->root))
		return -1;
	tids = capture_names(&capture, "/proc", &count);

	for (size_t i = 0; i < count && !error; i++) {
		struct task task;

		if (!text_is_number(tids[i]) || !task_read(&task, run->root, tids[i]))
			continue;
		if (task.kernel && !task.bound)
			error = move_thread(run, &task);
		task_free(&task);
	}
	capture_names_free(tids, count);
	capture_free(&capture);
	return error;
}
