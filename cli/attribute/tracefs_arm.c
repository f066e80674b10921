// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "attribute/tracefs.h"
#include "base/array.h"
#include "base/text.h"

#define CPUS_MOST 16		/* in one filter */

/* What is not told without an event; the other ones only say more. */
static const struct {
	enum trace_type type;
	const char *words;
} needed[] = {
	{ TRACE_SWITCH, "which thread runs (sched_switch)" },
	{ TRACE_IRQ_ENTRY, "interrupts of devices (irq_handler_entry)" },
	{ TRACE_SOFTIRQ_ENTRY, "software interrupts (softirq_entry)" },
	{ TRACE_WORK_ENTRY, "the functions of kworkers (workqueue_execute_start)" },
	{ TRACE_HRTIMER_ENTRY, "timers (hrtimer_expire_entry)" },
	{ TRACE_FAULT, "page faults (exceptions/page_fault_user)" },
	{ TRACE_CALL_ENTRY, "what another CPU's call does (csd_function_entry)" },
	{ TRACE_MIGRATE, "migrations (sched_migrate_task)" },
	{ TRACE_IDLE, "idle states (cpu_idle)" },
};

static bool has(const struct trace_readers *readers, enum trace_type type)
{
	for (size_t i = 0; i < readers->count; i++)
		if (readers->readers[i].kind->type == type)
			return true;
	return false;
}

/* "cpu == 1 || cpu == 2"; NULL: there would be too many. */
static char *each(const char *field, const struct cpulist *cpus)
{
	int count = 0;
	size_t size;
	char *text;
	FILE *out = text_open(&text, &size);

	for (int cpu = -1; (cpu = cpulist_next(cpus, cpu)) >= 0; count++)
		fprintf(out, "%s%s == %d", count ? " || " : "", field, cpu);
	fclose(out);
	if (count && count <= CPUS_MOST)
		return text;
	free(text);
	return NULL;
}

/* Only what is aimed at a measured CPU; where that cannot be said, all are recorded. */
static void filter(int instance, const struct trace_kind *kind, const struct cpulist *measured)
{
	char *path = text_format("events/%s/%s/filter", kind->system, kind->name);
	char *list = cpulist_text(measured);
	/* From 6.6 on sets of CPUs can be named. */
	char *text = text_format("%s & CPUS{%s}", kind->filter, list);

	if (tracefs_write(instance, path, text)) {
		free(text);
		text = each(kind->filter, measured);
		if (text)
			tracefs_write(instance, path, text);
	}
	free(text);
	free(list);
	free(path);
}

/* Turns @kind on in @instance, and reads back that it is; false: it is not. */
static bool enable(int instance, const struct trace_kind *kind)
{
	char *path = text_format("events/%s/%s/enable", kind->system, kind->name);
	char *now = tracefs_write(instance, path, "1") ? NULL : tracefs_read(instance, path);
	bool on = now && *now == '1';

	free(now);
	free(path);
	return on;
}

static bool arm(struct tracefs *fs, const struct trace_kind *kind,
		const struct tracefs_wanted *wanted)
{
	bool done = true;

	if (kind->where & TRACE_ALWAYS)
		return true;
	if (kind->where & TRACE_MEASURED)
		done = enable(fs->measured, kind);
	if (kind->where & TRACE_SENDERS && fs->senders >= 0) {
		if (kind->filter)
			filter(fs->senders, kind, wanted->measured);
		done = enable(fs->senders, kind) && done;
	}
	return done;
}

int tracefs_arm(struct tracefs *fs, const struct tracefs_wanted *wanted,
		const struct trace_readers *readers)
{
	size_t size;
	FILE *notes;
	int error;

	free(fs->notes);
	notes = text_open(&fs->notes, &size);
	for (size_t i = 0; i < readers->count; i++) {
		const struct trace_kind *kind = readers->readers[i].kind;

		if (!arm(fs, kind, wanted))
			fprintf(notes, "%s:%s cannot be turned on\n", kind->system, kind->name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!has(readers, needed[i].type))
			fprintf(notes, "this kernel does not tell %s\n", needed[i].words);
	fclose(notes);
	/* Only those of the senders, which are few, have stacks. */
	if (fs->senders >= 0) {
		tracefs_write(fs->senders, "options/stacktrace", "1");
		error = tracefs_write(fs->senders, "tracing_on", "1");
	} else {
		error = 0;
	}
	if (!error)
		error = tracefs_write(fs->measured, "tracing_on", "1");
	if (!error)
		return 0;
	free(fs->why);
	fs->why = text_format("tracing cannot be turned on: %s", strerror(error));
	return -1;
}
