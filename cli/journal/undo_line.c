// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/line.h"
#include "journal/store.h"
#include "journal/undo_line.h"
#include "machine/instance.h"
#include "machine/task.h"

bool undo_fail(struct undo_context *context, const char *path, const char *should,
	       const char *why)
{
	*ARRAY_ADD(context->undo->failures, context->undo->failed) = (struct undo_failure){
		text_format("%s", path), text_format("%s", should), text_format("%s", why),
	};
	return false;
}

bool undo_damaged(struct undo_context *context, const char *why)
{
	store_fail(context->root, context->place, strrchr(context->journal->path, '/') + 1, why);
	return undo_fail(context, context->journal->path, "", why);
}

bool undo_damaged_line(struct undo_context *context)
{
	return undo_damaged(context, "a line of it is damaged, and was left out");
}

bool undo_write(struct undo_context *context, const char *path, enum setting_kind kind,
		const char *value, const char *text)
{
	const char *root = context->root;
	char *now = setting_read(root, path);
	int error = 0;

	/* As it was already: some refuse to be told what they know. */
	if (!now || strcmp(now, text)) {
		error = root_live(root) ? setting_write(root, path, value) :
			setting_write_text(root, path, text);
		free(now);
		now = error ? NULL : setting_read(root, path);
		error = error ? error : now ? 0 : errno;
	}
	if (error) {
		error_say("%s: %s: it should be \"%s\" again", path, strerror(error), value);
		return undo_fail(context, path, value, strerror(error));
	}
	/* Words beside a switch are others' own. */
	if (strcmp(now, text) && !setting_holds(kind, now, value)) {
		error_say("%s was set to \"%s\" again, but shows \"%s\"", path, value, now);
		undo_fail(context, path, value, now);
		error = -1;
	}
	free(now);
	return !error;
}

bool undo_set(struct undo_context *context, char **fields)
{
	return undo_write(context, fields[JOURNAL_NAME], SETTING_TEXT, fields[JOURNAL_VALUE],
			  fields[JOURNAL_TEXT]);
}

int undo_share_set(struct journal *journal, char **fields)
{
	char *text = setting_read(journal->root, fields[JOURNAL_NAME]);
	char *value = text ? setting_value(SETTING_CHOICE, text) : NULL;
	int error = text ? journal_note(journal, fields[JOURNAL_WHAT], fields[JOURNAL_NAME], value,
					text) : 0;

	free(value);
	free(text);
	return error;
}

bool undo_instance(struct undo_context *context, char **fields)
{
	const char *path = fields[JOURNAL_NAME];
	int error = instance_remove(context->root, path);

	if (!error)
		return true;
	error_say("%s: %s: this instance of the tracer should be gone: end what reads it, and rmdir it",
		  path, strerror(error));
	return undo_fail(context, path, "no such instance", strerror(error));
}

bool undo_fail_task(struct undo_context *context, const char *tid, const char *list, int error)
{
	char *path = text_format("/proc/%s/status", tid), *word = text_shell(tid);

	error_say("%s: %s: its affinity should be %s again: taskset -pc %s %s", path,
		  strerror(error), list, list, word);
	undo_fail(context, path, list, strerror(error));
	free(word);
	free(path);
	return false;
}

bool undo_task(struct undo_context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *list = fields[JOURNAL_TEXT];
	struct task task, now;
	struct cpulist cpus;
	int error = 0;

	if (!cpulist_read(list, &cpus))
		return undo_damaged_line(context);
	/* It has ended; maybe another has its number. */
	if (!task_read(&task, context->root, tid))
		return true;
	if (!strcmp(task.start, fields[JOURNAL_VALUE]) &&
	    memcmp(task.cpus.bits, cpus.bits, sizeof(cpus.bits))) {
		error = task_set(&task, &cpus);
		if (!error && task_again(&now, &task)) {
			error = cpulist_same(&now.cpus, &cpus) ? 0 : EBUSY;
			task_free(&now);
		}
		error = error == ESRCH ? 0 : error;
	}
	if (error)
		undo_fail_task(context, tid, list, error);
	task_free(&task);
	return !error;
}

int undo_share_task(struct journal *journal, char **fields)
{
	struct task task;
	int error;

	if (!task_read(&task, journal->root, fields[JOURNAL_NAME]))
		return 0;
	error = journal_note_task(journal, &task);
	task_free(&task);
	return error;
}

const struct undo_kind *undo_kind(const char *what)
{
	for (const struct undo_kind *kind = undo_kinds; kind->what; kind++)
		if (!strcmp(kind->what, what))
			return kind;
	return NULL;
}

bool undo_line(struct undo_context *context, char **fields)
{
	const struct undo_kind *kind = undo_kind(fields[JOURNAL_WHAT]);
	const char *path = fields[JOURNAL_NAME];
	char *why = NULL;
	int error;

	if (!kind || !kind->undo || (kind->path && *path != '/'))
		return undo_damaged(context, "a line of it is damaged, or of a newer command, and was left out");
	/* Whoever has changed it may have had tracefs for itself alone. */
	error = kind->path ? instance_reach(context->root, path, &why) : 0;
	/* Where there is none, nothing of it is left. */
	if (error && error != ENODEV) {
		error_say("%s: %s", path, why);
		undo_fail(context, path, "as it was", why);
		free(why);
		return false;
	}
	free(why);
	return kind->undo(context, fields);
}
