// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files a shield is set by: those of CPUs, and those of timers that all CPUs have. */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/irq.h"
#include "base/array.h"
#include "base/text.h"
#include "shield/shield.h"

#define NET "/sys/class/net"
#define WORKQUEUE "/sys/devices/virtual/workqueue"
#define STAT_SECONDS "3600"	/* long beyond what is measured, and less than the most */

struct walk {
	const char *root;
	struct audit audit;	/* for what it knows to read */
	int (*each)(void *data, const struct shield_place *place);
	void *data;
	int error;
};

static const struct shield_place single[] = {
	{ .path = "/proc/irq/default_smp_affinity", .kind = SETTING_MASK,
	  .shield = SHIELD_INTERRUPTS },
	{ .path = WORKQUEUE "/cpumask", .kind = SETTING_MASK, .shield = SHIELD_PROCESSES },
	{ .path = "/proc/sys/kernel/watchdog_cpumask", .kind = SETTING_LIST,
	  .shield = SHIELD_TIMERS, .may_be_empty = true },
	{ .path = "/proc/sys/kernel/timer_migration", .kind = SETTING_TEXT,
	  .shield = SHIELD_TIMERS, .rest = "1" },
	{ .path = "/proc/sys/vm/stat_interval", .kind = SETTING_TEXT, .shield = SHIELD_TIMERS,
	  .rest = STAT_SECONDS },
	{ .path = "/sys/devices/system/machinecheck/machinecheck0/check_interval",
	  .kind = SETTING_TEXT, .shield = SHIELD_TIMERS, .rest = "0" },
};

bool shield_place_cpus(const struct shield_place *place, const char *text, struct cpulist *cpus)
{
	char *value = text_trim(text);
	bool good = place->kind == SETTING_MASK ? cpulist_parse_mask(value, cpus) :
		cpulist_read(value, cpus);

	free(value);
	return good;
}

bool shield_place_rests(const struct shield_place *place, const char *text)
{
	long wanted = strtol(place->rest, NULL, 10), have = strtol(text, NULL, 10);

	return have == wanted || (wanted > 1 && have > wanted);
}

/* What is not there cannot come to a CPU, and what cannot be read is not touched. */
static void visit(struct walk *walk, const struct shield_place *place)
{
	char *text = walk->error ? NULL : setting_read(walk->root, place->path);
	struct shield_place one = *place;

	if (!text)
		return;
	one.text = text;
	one.what = "";
	walk->error = walk->each(walk->data, &one);
	free(text);
}

static void visit_irqs(struct walk *walk)
{
	size_t count;
	char **numbers = audit_names(&walk->audit, &count, "/proc/irq");

	for (size_t i = 0; i < count && !walk->error; i++) {
		const struct capture_file *actions;
		struct irq irq;
		char *goes;

		if (!irq_look(&walk->audit, numbers[i], &irq))
			continue;
		actions = audit_file(&walk->audit, "/sys/kernel/irq/%s/actions", numbers[i]);
		goes = cpulist_text(&irq.goes);
		walk->error = walk->each(walk->data, &(struct shield_place){
			.path = irq.file->path,
			.text = irq.managed || irq.bound ? goes : irq.file->text,
			.kind = SETTING_LIST,
			.shield = SHIELD_INTERRUPTS,
			.what = actions ? actions->value : "",
			.fixed = irq.managed || irq.bound,
		});
		free(goes);
	}
	capture_names_free(numbers, count);
}

/* @format with each name in the directory @path that begins with @prefix. */
static void visit_names(struct walk *walk, const char *path, const char *prefix, const char *file,
			enum shield_kind shield)
{
	size_t count;
	char **names = audit_names(&walk->audit, &count, "%s", path);

	for (size_t i = 0; i < count; i++) {
		char *name;

		if (strncmp(names[i], prefix, strlen(prefix)))
			continue;
		name = text_format("%s/%s/%s", path, names[i], file);
		visit(walk, &(struct shield_place){ .path = name, .kind = SETTING_MASK,
						    .shield = shield });
		free(name);
	}
	capture_names_free(names, count);
}

/* Where received packets are handed to: each queue of each device. */
static void visit_packets(struct walk *walk)
{
	size_t count;
	char **names = audit_names(&walk->audit, &count, NET);

	for (size_t i = 0; i < count; i++) {
		char *path = text_format(NET "/%s/queues", names[i]);

		visit_names(walk, path, "rx-", "rps_cpus", SHIELD_INTERRUPTS);
		free(path);
	}
	capture_names_free(names, count);
}

int shield_files(const char *root, int (*each)(void *data, const struct shield_place *place),
		 void *data)
{
	struct walk walk = { .root = root, .each = each, .data = data };
	struct capture capture;

	if (capture_open(&capture, root))
		return -1;
	walk.audit.capture = &capture;
	for (size_t i = 0; i < ARRAY_SIZE(single); i++)
		visit(&walk, &single[i]);
	visit_irqs(&walk);
	visit_packets(&walk);
	visit_names(&walk, WORKQUEUE, "", "cpumask", SHIELD_PROCESSES);
	audit_free(&walk.audit);
	capture_free(&capture);
	return walk.error;
}
