// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "journal/store.h"
#include "machine/capture.h"
#include "shield/notes.h"
#include "watch/guard.h"

#define CGROUP "/sys/fs/cgroup"
#define CPU "/sys/devices/system/cpu"
#define PARTITION_DEPTH 32

const char *const guard_reasons[GUARD_REASONS] = {
	[GUARD_NAMED] = "option",
	[GUARD_ISOLATED] = "isolator",
	[GUARD_PARTITION] = "cpuset",
	[GUARD_ISOLCPUS] = "isolcpus",
	[GUARD_NOHZ_FULL] = "nohz_full",
	[GUARD_SHIELD] = "shield",
};

static void keep(struct cpulist *list, const struct cpulist *these)
{
	struct cpulist others = *list;

	cpulist_minus(&others, these);
	cpulist_minus(list, &others);
}

/* Adds the CPUs that the file @path lists; false: it is not there, or holds no list. */
static bool add_file(struct cpulist *list, struct capture *capture, const char *path)
{
	const struct capture_file *file = capture_read(capture, path);
	struct cpulist cpus;

	if (file->error || !cpulist_read(file->value, &cpus))
		return false;
	cpulist_union(list, &cpus);
	return true;
}

/* The line "isolated LIST"; nothing of the status is known that would be another. */
static void read_isolated(struct cpulist *list, struct capture *capture)
{
	static const char key[] = "\nisolated ";
	const struct capture_file *file = capture_read(capture, "/proc/isolator/status");
	const char *at = file->error ? NULL : strstr(file->value, key);
	struct cpulist cpus;
	char *text;

	if (!at)
		return;
	at += strlen(key);
	text = text_format("%.*s", (int)strcspn(at, "\n"), at);
	if (cpulist_read(text, &cpus))
		cpulist_union(list, &cpus);
	free(text);
}

/*
 * Kernels before 6.7 do not sum them up; there a partition's parents are partitions.  A capture
 * is anybody's: cgroups have no links to others, and are not nested without end.
 */
static void read_partitions(struct cpulist *list, struct capture *capture, const char *path,
			    unsigned int depth)
{
	size_t count;
	char **names = capture_directories(capture, path, &count);

	for (size_t i = 0; i < count; i++) {
		char *group = text_format("%s/%s", path, names[i]);
		char *kind = text_format("%s/cpuset.cpus.partition", group);
		char *cpus = text_format("%s/cpuset.cpus.effective", group);
		const struct capture_file *file = capture_read(capture, kind);

		if (!file->error && !strcmp(file->value, "isolated"))
			add_file(list, capture, cpus);
		if (!file->error && depth > 1 && (!strcmp(file->value, "isolated") ||
						  !strcmp(file->value, "root")))
			read_partitions(list, capture, group, depth - 1);
		free(cpus);
		free(kind);
		free(group);
	}
	capture_names_free(names, count);
}

bool guard_parameter(struct cpulist *list, struct capture *capture, const char *name)
{
	const struct capture_file *file = capture_read(capture, "/proc/cmdline");
	const char *line = file->error ? "" : file->value;
	size_t length = strlen(name);
	bool good = true;

	while (*(line += strspn(line, " \n"))) {
		size_t word = strcspn(line, " \n");

		if (word > length && !strncmp(line, name, length) && line[length] == '=') {
			char *value = text_format("%.*s", (int)(word - length - 1), line + length + 1);
			const char *at = value;
			struct cpulist cpus;

			/* Flags come first: domain,managed_irq,2-3 */
			while (isalpha((unsigned char)*at) && strchr(at, ','))
				at = strchr(at, ',') + 1;
			if (cpulist_parse(at, &cpus))
				cpulist_union(list, &cpus);
			else
				good = false;
			free(value);
		}
		line += word;
	}
	return good;
}

/* What the kernel shows in @path of the boot parameter @name, and the parameter itself. */
static void read_parameter(struct guard *guard, enum guard_reason reason,
			   struct capture *capture, const char *path)
{
	const char *name = guard_reasons[reason];
	bool shown = add_file(&guard->of[reason], capture, path);

	if (!guard_parameter(&guard->of[reason], capture, name) && !shown && !guard->unclear)
		guard->unclear = text_format("%s", name);
}

static void read_shield(struct cpulist *list, struct capture *capture)
{
	const struct capture_file *file = capture_read(capture, STORE_PATH "/" STORE_SHIELD);
	struct shield_notes notes;

	if (file->error)
		return;
	shield_notes_read(&notes, file->text);
	cpulist_union(list, &notes.masks.of[SHIELD_INTERRUPTS]);
	shield_notes_free(&notes);
}

void guard_read(struct guard *guard, struct capture *capture, const struct cpulist *named)
{
	*guard = (struct guard){ .cpus.given = true };
	for (size_t i = 0; i < GUARD_REASONS; i++)
		guard->of[i].given = true;
	read_isolated(&guard->of[GUARD_ISOLATED], capture);
	if (!add_file(&guard->of[GUARD_PARTITION], capture, CGROUP "/cpuset.cpus.isolated"))
		read_partitions(&guard->of[GUARD_PARTITION], capture, CGROUP,
				PARTITION_DEPTH);
	read_parameter(guard, GUARD_ISOLCPUS, capture, CPU "/isolated");
	read_parameter(guard, GUARD_NOHZ_FULL, capture, CPU "/nohz_full");
	read_shield(&guard->of[GUARD_SHIELD], capture);
	for (size_t i = 0; i < GUARD_REASONS; i++)
		cpulist_union(&guard->cpus, &guard->of[i]);
	if (!named->given)
		return;
	guard->of[GUARD_NAMED] = guard->cpus = *named;
	for (size_t i = 0; i < GUARD_REASONS; i++)
		keep(&guard->of[i], named);
}

void guard_free(struct guard *guard)
{
	free(guard->unclear);
	*guard = (struct guard){ 0 };
}
