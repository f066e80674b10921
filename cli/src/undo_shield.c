// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "journal.h"
#include "shield_notes.h"
#include "text.h"
#include "undo_shield.h"

#define ROUNDS 20	/* for tasks that begin meanwhile */

bool undo_shield_holds(const char *what, const char *text, const char *value)
{
	return setting_holds(!strcmp(what, JOURNAL_SHIELD_LIST) ? SETTING_LIST :
			     !strcmp(what, JOURNAL_SHIELD_MASK) ? SETTING_MASK : SETTING_TEXT,
			     text, value);
}

int undo_shield_task(const char *root, const char *tid, const char *start,
		     const struct cpulist *was, const struct cpulist *now)
{
	struct task task, after;
	int error = 0;

	if (!task_read(&task, root, tid))
		return 0;
	if (!strcmp(task.start, start) && cpulist_same(&task.cpus, now) &&
	    !cpulist_same(was, now)) {
		error = task_set(&task, was);
		if (!error && task_again(&after, &task)) {
			/* A cpuset that has become smaller meanwhile leaves less. */
			error = cpulist_within(&after.cpus, was) ? 0 : EBUSY;
			task_free(&after);
		}
	}
	task_free(&task);
	return error == ESRCH ? 0 : error;
}

/* One round; false: nothing was changed. */
static bool one_round(const char *root, const struct shield_notes *notes,
		      const struct tasks *tasks, unsigned int *restored,
		      struct undo_shield_heir **failed, size_t *count)
{
	bool changed = false;

	for (size_t i = 0; i < *count; i++) {
		free((*failed)[i].tid);
		free((*failed)[i].list);
	}
	*count = 0;
	for (size_t i = 0; i < tasks->count; i++) {
		const struct tasks_one *one = &tasks->list[i];
		struct cpulist was;
		int error;

		if (one->task.bound || shield_notes_has(notes, one) ||
		    !shield_notes_task(notes, tasks, one, &was) ||
		    cpulist_same(&was, &one->task.cpus))
			continue;
		error = undo_shield_task(root, one->task.tid, one->task.start, &was,
					 &one->task.cpus);
		if (error) {
			*ARRAY_ADD(*failed, *count) = (struct undo_shield_heir){
				text_format("%s", one->task.tid), cpulist_text(&was), error,
			};
		} else {
			(*restored)++;
			changed = true;
		}
	}
	return changed;
}

int undo_shield_heirs(const char *root, const char *text, unsigned int *restored,
		      struct undo_shield_heir **failed, size_t *count)
{
	struct shield_notes notes;
	bool changed = true;
	int error = 0;

	*failed = NULL;
	*count = 0;
	shield_notes_read(&notes, text);
	for (int i = 0; changed && !error && i < ROUNDS; i++) {
		struct tasks tasks;

		error = tasks_read(&tasks, root);
		if (error)
			break;
		changed = one_round(root, &notes, &tasks, restored, failed, count);
		tasks_free(&tasks);
	}
	shield_notes_free(&notes);
	return error;
}

char *undo_shield_cpus(const char *text)
{
	struct shield_notes notes;
	struct cpulist any;
	char *cpus = NULL;

	shield_notes_read(&notes, text);
	if (notes.given) {
		any = shield_masks_any(&notes.masks);
		cpus = cpulist_text(&any);
	}
	shield_notes_free(&notes);
	return cpus;
}
