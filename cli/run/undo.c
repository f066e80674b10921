// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpulist.h"
#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "journal/line.h"
#include "journal/undo_line.h"
#include "machine/task.h"
#include "proc/device.h"
#include "run/group.h"
#include "run/undo.h"

bool run_undo_controller(struct undo_context *context, char **fields)
{
	int error = group_disable(context->root, fields[JOURNAL_TEXT]);

	if (!error)
		return true;
	error_say("%s: %s: it should be without %s again", fields[JOURNAL_NAME], strerror(error),
		  fields[JOURNAL_VALUE]);
	return undo_fail(context, fields[JOURNAL_NAME], fields[JOURNAL_TEXT], strerror(error));
}

int run_share_controller(struct journal *journal, char **fields)
{
	char *text = setting_read(journal->root, fields[JOURNAL_NAME]);
	int error = text ? journal_note(journal, RUN_CONTROLLER, fields[JOURNAL_NAME],
					fields[JOURNAL_VALUE], text) : 0;

	free(text);
	return error;
}

bool run_undo_group(struct undo_context *context, char **fields)
{
	int error = group_remove(context->root, fields[JOURNAL_NAME], fields[JOURNAL_VALUE],
				 &context->journal->moved);

	if (!error)
		return true;
	error_say("%s: %s: this cgroup should be gone: end or move what runs in it, and rmdir it",
		  fields[JOURNAL_NAME], strerror(error));
	return undo_fail(context, fields[JOURNAL_NAME], "no such cgroup", strerror(error));
}

/* Its CPUs and its policy, each whatever becomes of the other: 0, or an errno. */
static int give_back(const struct task *task, const struct cpulist *cpus, unsigned int policy,
		     unsigned int priority)
{
	int pinned = cpulist_same(&task->cpus, cpus) ? 0 : task_set(task, cpus);
	int scheduled = task->policy == policy && task->priority == priority ? 0 :
		task_schedule(task, policy, priority);

	return scheduled ? scheduled : pinned;
}

bool run_undo_attach(struct undo_context *context, char **fields)
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
		return undo_damaged_line(context);
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
		if (!error)
			error = give_back(&task, &cpus, policy, priority);
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
		undo_fail(context, path, text, strerror(error));
		free(path);
	}
	task_free(&task);
	free(list);
	return !error;
}
