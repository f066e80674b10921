// SPDX-License-Identifier: GPL-2.0-or-later
/* Tracing that was left on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/text.h"

/* Where tracefs is; without it NULL. */
static const char *place(struct audit *audit)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < 2; i++) {
		char *path = text_format("%s/current_tracer", places[i]);
		const struct capture_file *file = capture_read(audit->capture, path);

		free(path);
		if (file->error != ENOENT)
			return places[i];
	}
	return NULL;
}

static void judge_tracer(struct audit *audit, const struct capture_file *file)
{
	if (file && strcmp(file->value, "nop"))
		audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "nop");
}

static void judge_list(struct audit *audit, const struct capture_file *file)
{
	if (file && *file->value)
		audit_set(audit_find(audit, file->path, file->value), SETTING_TEXT, "%s", "");
}

/* A file of tracefs, and of each instance. */
static void each(struct audit *audit, const char *name,
		 void (*judge)(struct audit *, const struct capture_file *))
{
	const char *where = place(audit);
	size_t count;
	char **instances;

	if (!where)
		return;
	judge(audit, audit_file(audit, "%s/%s", where, name));
	instances = audit_names(audit, &count, "%s/instances", where);
	for (size_t i = 0; i < count; i++)
		judge(audit, audit_file(audit, "%s/instances/%s/%s", where, instances[i], name));
	capture_names_free(instances, count);
}

static void find_tracer(struct audit *audit)
{
	each(audit, "current_tracer", judge_tracer);
}

static void find_events(struct audit *audit)
{
	each(audit, "set_event", judge_list);
}

static void find_probes(struct audit *audit)
{
	const char *where = place(audit);

	if (!where)
		return;
	judge_list(audit, audit_file(audit, "%s/kprobe_events", where));
	judge_list(audit, audit_file(audit, "%s/uprobe_events", where));
}

static const struct audit_check checks[] = {
	{ "trace.tracer", AUDIT_WARNING, false,
	  "a tracer is on: each kernel entry takes longer, and some tracers stop CPUs to measure them",
	  find_tracer },
	{ "trace.events", AUDIT_WARNING, false,
	  "these trace events are on: each kernel entry takes longer", find_events },
	{ "trace.probes", AUDIT_WARNING, false,
	  "these probes are in the kernel's code: each costs a trap or a jump", find_probes },
	{ 0 },
};

const struct audit_group audit_trace = { "Tracing", checks };
