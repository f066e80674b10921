// SPDX-License-Identifier: GPL-2.0-or-later
/* What of the machine is against the rule now: tasks and interrupts choose as they like. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "machine/capture.h"
#include "machine/tasks.h"
#include "proc/device.h"
#include "shield/shield.h"

/* Names @cpus shielded CPUs, and others that are there, too? */
static bool is_mixed(const struct shield_look *look, enum shield_kind kind,
		     const struct cpulist *cpus)
{
	struct cpulist others = *cpus;

	cpulist_minus(&others, &look->masks.of[kind]);
	return cpulist_common(cpus, &look->masks.of[kind]) &&
		cpulist_common(&others, &look->online);
}

static void look_at_task(struct shield_look *look, const struct task *task)
{
	const struct cpulist *mask = &look->masks.of[SHIELD_PROCESSES];

	if (!cpulist_common(&task->cpus, mask))
		return;
	if (task->bound) {
		look->bound++;
	} else if (!is_mixed(look, SHIELD_PROCESSES, &task->cpus)) {
		look->inside++;
	} else {
		*ARRAY_ADD(look->tasks, look->nr_tasks) = (struct shield_task){
			.tid = text_format("%s", task->tid),
			.name = text_format("%s", task->name),
			.kernel = task->kernel,
			.cpus = cpulist_text(&task->cpus),
		};
	}
}

static int look_at_file(void *data, const struct shield_place *place)
{
	struct shield_look *look = data;
	const struct cpulist *mask = &look->masks.of[place->shield];
	struct cpulist cpus = { .given = true };
	bool wrong = false;

	if (cpulist_empty(mask))
		return 0;
	if (place->rest)
		wrong = !shield_place_rests(place, place->text);
	else if (shield_place_cpus(place, place->text, &cpus) && cpulist_common(&cpus, mask))
		wrong = place->fixed || place->may_be_empty ||
			is_mixed(look, place->shield, &cpus);
	if (wrong)
		*ARRAY_ADD(look->files, look->nr_files) = (struct shield_file){
			.path = text_format("%s", place->path),
			.what = text_format("%s", place->what),
			.cpus = place->rest ? text_trim(place->text) : cpulist_text(&cpus),
			.fixed = place->fixed,
		};
	return 0;
}

static void look_around(struct shield_look *look, struct capture *capture)
{
	const struct capture_file *file = capture_read(capture,
						       "/sys/devices/system/cpu/nohz_full");

	look->never_tickless = file->error == ENOENT;
	if (file->error || !cpulist_read(file->value, &look->tickless))
		look->tickless = (struct cpulist){ .given = true };
	if (capture_process(capture, "irqbalance"))
		look->balancer = text_format("irqbalance");
	look->isolator = device_there(capture->root);
}

int shield_look(struct shield_look *look, const char *root)
{
	struct capture capture;
	struct tasks tasks;

	if (capture_open(&capture, root))
		return -1;
	look_around(look, &capture);
	capture_free(&capture);
	if (shield_files(root, look_at_file, look) || tasks_read(&tasks, root))
		return -1;
	for (size_t i = 0; i < tasks.count; i++)
		look_at_task(look, &tasks.list[i].task);
	tasks_free(&tasks);
	return 0;
}

size_t shield_look_wrong(const struct shield_look *look)
{
	size_t wrong = look->nr_tasks;

	for (size_t i = 0; i < look->nr_files; i++)
		wrong += !look->files[i].fixed;
	return wrong;
}

void shield_look_free(struct shield_look *look)
{
	for (size_t i = 0; i < look->nr_tasks; i++) {
		free(look->tasks[i].tid);
		free(look->tasks[i].name);
		free(look->tasks[i].cpus);
	}
	for (size_t i = 0; i < look->nr_files; i++) {
		free(look->files[i].path);
		free(look->files[i].what);
		free(look->files[i].cpus);
	}
	free(look->tasks);
	free(look->files);
	free(look->balancer);
	*look = (struct shield_look){ 0 };
}
