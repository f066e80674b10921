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

bool shield_undo_task(struct undo_context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *text = fields[JOURNAL_TEXT];
	struct cpulist was, now;
	char *list;
	int error;

	if (!shield_note_lists(text, &was, &now))
		return undo_damaged_line(context);
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
	const char *what = fields[JOURNAL_WHAT], *path = fields[JOURNAL_NAME];
	const char *text = fields[JOURNAL_TEXT];
	enum setting_kind kind = !strcmp(what, SHIELD_FILE_LIST) ? SETTING_LIST :
		!strcmp(what, SHIELD_FILE_MASK) ? SETTING_MASK : SETTING_TEXT;
	char *now = setting_read(context->root, path), *value;
	bool good;

	if (!now && errno == ENOENT) {
		/* It had what it had. */
		good = true;
	} else if (now && strcmp(now, text) && !setting_holds(kind, now, fields[JOURNAL_VALUE])) {
		good = undo_leave(context, path, kind, now, text);
	} else {
		value = setting_value(kind, text);
		good = undo_write(context, path, kind, value, text);
		free(value);
	}
	free(now);
	return good;
}

/* Tasks that did not get back what they would have. */
struct heirs {
	struct heir {
		char *tid;
		char *list;
		int error;
	} *list;
	size_t count;
};

static void forget(struct heirs *heirs)
{
	for (size_t i = 0; i < heirs->count; i++) {
		free(heirs->list[i].tid);
		free(heirs->list[i].list);
	}
	heirs->count = 0;
}

/* The tasks that are in no line of @notes; false: nothing was changed. */
static bool one_round(struct undo_context *context, const struct shield_notes *notes,
		      const struct tasks *tasks, struct heirs *failed)
{
	bool changed = false;

	forget(failed);
	for (size_t i = 0; i < tasks->count; i++) {
		const struct tasks_one *one = &tasks->list[i];
		struct cpulist was;
		int error;

		if (one->task.bound || shield_notes_has(notes, one) ||
		    !shield_notes_task(notes, one, &was) ||
		    cpulist_same(&was, &one->task.cpus))
			continue;
		error = give_back(context->root, one->task.tid, one->task.start, &was,
				  &one->task.cpus);
		if (error) {
			*ARRAY_ADD(failed->list, failed->count) = (struct heir){
				text_format("%s", one->task.tid), cpulist_text(&was), error,
			};
		} else {
			context->journal->restored++;
			changed = true;
		}
	}
	return changed;
}

bool shield_undo_heirs(struct undo_context *context, const char *text)
{
	struct heirs failed = { 0 };
	struct shield_notes notes;
	bool changed = true, good = true;

	shield_notes_read(&notes, text);
	for (int i = 0; changed && i < ROUNDS; i++) {
		struct tasks tasks;

		good = !tasks_read(&tasks, context->root);
		if (!good)
			break;
		changed = one_round(context, &notes, &tasks, &failed);
		tasks_free(&tasks);
	}
	shield_notes_free(&notes);
	for (size_t i = 0; i < failed.count; i++)
		good = undo_fail_task(context, failed.list[i].tid, failed.list[i].list,
				      failed.list[i].error);
	forget(&failed);
	free(failed.list);
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
