// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cpulist.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/journal.h"
#include "journal/line.h"
#include "journal/undo_line.h"
#include "machine/task.h"
#include "machine/tasks.h"
#include "shield/notes.h"
#include "shield/undo.h"

#define ROUNDS 20	/* for tasks that begin meanwhile */

/* Does the file that shows @text hold @value, by the word of its line? */
static bool holds(const char *what, const char *text, const char *value)
{
	return setting_holds(!strcmp(what, JOURNAL_SHIELD_LIST) ? SETTING_LIST :
			     !strcmp(what, JOURNAL_SHIELD_MASK) ? SETTING_MASK : SETTING_TEXT,
			     text, value);
}

/*
 * The task @tid that began at @start has @was again, if it has @now: 0, also if it has
 * ended, or the errno.
 */
static int give_back(const char *root, const char *tid, const char *start,
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

/* A task that did not get back what it would have, its text to be freed. */
struct heir {
	char *tid;
	char *list;
	int error;
};

/* One round; false: nothing was changed. */
static bool one_round(const char *root, const struct shield_notes *notes,
		      const struct tasks *tasks, unsigned int *restored,
		      struct heir **failed, size_t *count)
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
		error = give_back(root, one->task.tid, one->task.start, &was,
					 &one->task.cpus);
		if (error) {
			*ARRAY_ADD(*failed, *count) = (struct heir){
				text_format("%s", one->task.tid), cpulist_text(&was), error,
			};
		} else {
			(*restored)++;
			changed = true;
		}
	}
	return changed;
}

/*
 * The same for the tasks that have taken something over, by the journal @text, and are in
 * none of its lines.  0, or the errno: nothing was looked at.
 */
static int give_heirs_back(const char *root, const char *text, unsigned int *restored,
		      struct heir **failed, size_t *count)
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

bool shield_undo_task(struct undo_context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *text = fields[JOURNAL_TEXT];
	struct cpulist was, now;
	char *list;
	int error;

	if (!shield_note_lists(text, &was, &now))
		return undo_damaged(context, "a line of it is damaged, and was left out");
	error = give_back(context->root, tid, fields[JOURNAL_VALUE], &was, &now);
	if (!error)
		return true;
	list = cpulist_text(&was);
	undo_fail_task(context, tid, list, error);
	free(list);
	return false;
}

bool shield_undo_file(struct undo_context *context, char **fields)
{
	char *now = setting_read(context->root, fields[JOURNAL_NAME]), *value;
	/* One that is gone had what it had. */
	bool good = (!now && errno == ENOENT) ||
		(now && !holds(fields[JOURNAL_WHAT], now, fields[JOURNAL_VALUE]));

	if (!good) {
		value = text_trim(fields[JOURNAL_TEXT]);
		good = undo_set(context, (char *[]){ fields[JOURNAL_WHAT], fields[JOURNAL_NAME],
						     value, fields[JOURNAL_TEXT] });
		free(value);
	}
	free(now);
	return good;
}

bool shield_undo_heirs(struct undo_context *context, const char *text)
{
	struct heir *failed;
	size_t count;
	bool good = !give_heirs_back(context->root, text, &context->journal->restored, &failed,
				       &count);

	for (size_t i = 0; i < count; i++) {
		good = undo_fail_task(context, failed[i].tid, failed[i].list, failed[i].error);
		free(failed[i].tid);
		free(failed[i].list);
	}
	free(failed);
	return good;
}

char *shield_undo_cpus(const char *text)
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
