// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "device.h"
#include "error.h"
#include "group.h"
#include "instance.h"
#include "journal.h"
#include "journal_line.h"
#include "root.h"
#include "setting.h"
#include "shield_notes.h"
#include "store.h"
#include "task.h"
#include "text.h"
#include "undo_line.h"
#include "undo_shield.h"

/* Says so, and keeps it.  Returns false. */
static bool fail(struct undo_context *context, const char *path, const char *should,
		 const char *why)
{
	*ARRAY_ADD(context->undo->failures, context->undo->failed) = (struct undo_failure){
		text_format("%s", path), text_format("%s", should), text_format("%s", why),
	};
	return false;
}

bool undo_damaged(struct undo_context *context, const char *why)
{
	store_fail(context->root, strrchr(context->journal->path, '/') + 1, why);
	return fail(context, context->journal->path, "", why);
}

static bool put_back(struct undo_context *context, char **fields)
{
	const char *root = context->root, *path = fields[JOURNAL_NAME];
	const char *text = fields[JOURNAL_TEXT];
	char *now = setting_read(root, path);
	int error = 0;

	/* As it was already: some refuse to be told what they know. */
	if (!now || strcmp(now, text)) {
		error = root_live(root) ? setting_write(root, path, fields[JOURNAL_VALUE]) :
			setting_write_text(root, path, text);
		free(now);
		now = error ? NULL : setting_read(root, path);
		error = error ? error : now ? 0 : errno;
	}
	if (error) {
		error_say("%s: %s: it should be \"%s\" again", path, strerror(error),
			  fields[JOURNAL_VALUE]);
		return fail(context, path, fields[JOURNAL_VALUE], strerror(error));
	}
	if (strcmp(now, text)) {
		error_say("%s was set to \"%s\" again, but shows \"%s\"", path,
			  fields[JOURNAL_VALUE], now);
		fail(context, path, fields[JOURNAL_VALUE], now);
		error = -1;
	}
	free(now);
	return !error;
}

static bool put_controller_back(struct undo_context *context, char **fields)
{
	int error = group_disable(context->root, fields[JOURNAL_TEXT]);

	if (!error)
		return true;
	error_say("%s: %s: it should be without %s again", fields[JOURNAL_NAME], strerror(error),
		  fields[JOURNAL_VALUE]);
	return fail(context, fields[JOURNAL_NAME], fields[JOURNAL_TEXT], strerror(error));
}

static bool put_group_back(struct undo_context *context, char **fields)
{
	int error = group_remove(context->root, fields[JOURNAL_NAME], fields[JOURNAL_VALUE],
				 &context->journal->moved);

	if (!error)
		return true;
	error_say("%s: %s: this cgroup should be gone: end or move what runs in it, and rmdir it",
		  fields[JOURNAL_NAME], strerror(error));
	return fail(context, fields[JOURNAL_NAME], "no such cgroup", strerror(error));
}

static bool remove_instance(struct undo_context *context, char **fields)
{
	const char *path = fields[JOURNAL_NAME];
	int error = instance_remove(context->root, path);

	if (!error)
		return true;
	error_say("%s: %s: this instance of the tracer should be gone: end what reads it, and rmdir it",
		  path, strerror(error));
	return fail(context, path, "no such instance", strerror(error));
}

/* Says that the task @tid has not @list again, as it should; false. */
static bool fail_task(struct undo_context *context, const char *tid, const char *list, int error)
{
	char *path = text_format("/proc/%s/status", tid), *word = text_shell(tid);

	error_say("%s: %s: its affinity should be %s again: taskset -pc %s %s", path,
		  strerror(error), list, list, word);
	fail(context, path, list, strerror(error));
	free(word);
	free(path);
	return false;
}

static bool put_task_back(struct undo_context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *list = fields[JOURNAL_TEXT];
	struct task task, now;
	struct cpulist cpus;
	int error = 0;

	if (!cpulist_read(list, &cpus))
		return undo_damaged(context, "a line of it is damaged, and was left out");
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
		fail_task(context, tid, list, error);
	task_free(&task);
	return !error;
}

/* What the shield has given the task, unless somebody has given it something else since. */
static bool put_shielded_task_back(struct undo_context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *text = fields[JOURNAL_TEXT];
	struct cpulist was, now;
	char *list;
	int error;

	if (!shield_note_lists(text, &was, &now))
		return undo_damaged(context, "a line of it is damaged, and was left out");
	error = undo_shield_task(context->root, tid, fields[JOURNAL_VALUE], &was, &now);
	if (!error)
		return true;
	list = cpulist_text(&was);
	fail_task(context, tid, list, error);
	free(list);
	return false;
}

/* The same of a file; one that is gone had what it had. */
static bool put_shielded_back(struct undo_context *context, char **fields)
{
	char *now = setting_read(context->root, fields[JOURNAL_NAME]), *value;
	bool good = (!now && errno == ENOENT) ||
		(now && !undo_shield_holds(fields[JOURNAL_WHAT], now, fields[JOURNAL_VALUE]));

	if (!good) {
		value = text_trim(fields[JOURNAL_TEXT]);
		good = put_back(context, (char *[]){ fields[JOURNAL_WHAT], fields[JOURNAL_NAME],
						     value, fields[JOURNAL_TEXT] });
		free(value);
	}
	free(now);
	return good;
}

bool undo_heirs(struct undo_context *context, const char *text)
{
	struct undo_shield_heir *failed;
	size_t count;
	bool good = !undo_shield_heirs(context->root, text, &context->journal->restored, &failed,
				       &count);

	for (size_t i = 0; i < count; i++) {
		good = fail_task(context, failed[i].tid, failed[i].list, failed[i].error);
		free(failed[i].tid);
		free(failed[i].list);
	}
	free(failed);
	return good;
}

/* The isolation of an attached task ends, and it gets back what it had. */
static bool detach(struct undo_context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME], *text = fields[JOURNAL_TEXT];
	char *list = text_format("%.*s", (int)strcspn(text, " "), text), *path;
	unsigned int policy, priority;
	struct task task, now;
	struct cpulist cpus;
	int error = 0, fd;

	if (!cpulist_read(list, &cpus) ||
	    sscanf(text + strlen(list), "%u %u", &policy, &priority) != 2) {
		free(list);
		return undo_damaged(context, "a line of it is damaged, and was left out");
	}
	if (!task_read(&task, context->root, tid)) {
		free(list);
		return true;
	}
	if (!strcmp(task.start, fields[JOURNAL_VALUE])) {
		/* What has failed has isolated nothing: it would end what another has. */
		fd = context->failed ? -1 : device_open(context->root);
		error = fd < 0 ? 0 : device_stop(fd, (pid_t)strtol(tid, NULL, 10));
		if (fd >= 0)
			close(fd);
		/* It was not isolated, or its isolation has ended. */
		error = error == ESRCH ? 0 : error;
		if (!error && (task.policy != policy || task.priority != priority))
			error = task_schedule(&task, policy, priority);
		if (!error && memcmp(task.cpus.bits, cpus.bits, sizeof(cpus.bits)))
			error = task_set(&task, &cpus);
		if (!error && task_again(&now, &task)) {
			if (!cpulist_same(&now.cpus, &cpus) || now.policy != policy ||
			    now.priority != priority)
				error = EBUSY;
			task_free(&now);
		}
		error = error == ESRCH ? 0 : error;
	}
	if (error) {
		path = text_format("/proc/%s/status", tid);
		error_say("%s: %s: it should not be isolated any more, its affinity %s and its policy %u with priority %u: isolator detach %s as root",
			  path, strerror(error), list, policy, priority, tid);
		fail(context, path, text, strerror(error));
		free(path);
	}
	task_free(&task);
	free(list);
	return !error;
}

bool undo_line(struct undo_context *context, char **fields)
{
	static const struct {
		const char *what;
		bool path;
		bool (*undo)(struct undo_context *context, char **fields);
	} kinds[] = {
		{ JOURNAL_SET, true, put_back },
		{ JOURNAL_CONTROLLER, true, put_controller_back },
		{ JOURNAL_GROUP, true, put_group_back },
		{ JOURNAL_INSTANCE, true, remove_instance },
		{ JOURNAL_TASK, false, put_task_back },
		{ JOURNAL_ATTACH, false, detach },
		{ JOURNAL_SHIELD_LIST, true, put_shielded_back },
		{ JOURNAL_SHIELD_MASK, true, put_shielded_back },
		{ JOURNAL_SHIELD_TEXT, true, put_shielded_back },
		{ JOURNAL_SHIELD_TASK, false, put_shielded_task_back },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(fields[JOURNAL_WHAT], kinds[i].what) &&
		    (!kinds[i].path || fields[JOURNAL_NAME][0] == '/'))
			return kinds[i].undo(context, fields);
	return undo_damaged(context, "a line of it is damaged, or of a newer command, and was left out");
}
