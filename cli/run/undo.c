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

/* What attach has noted: what the task had, and what it got. */
struct attached {
	char *list;
	struct cpulist cpus;
	unsigned int policy, priority;
	bool told;	/* an earlier version did not note what it got */
	struct cpulist got_cpus;
	unsigned int got_policy, got_priority;
	bool other_cpus, other_policy;	/* what somebody has given the task since */
};

static bool read_attached(const char *text, struct attached *attached)
{
	int cpu, words;

	*attached = (struct attached){ .list = text_format("%.*s", (int)strcspn(text, " "), text) };
	if (!cpulist_read(attached->list, &attached->cpus))
		return false;
	words = sscanf(text + strlen(attached->list), "%u %u %d %u %u", &attached->policy,
		       &attached->priority, &cpu, &attached->got_policy, &attached->got_priority);
	attached->told = words == 5 && cpu >= 0 && cpu < CPULIST_MAX;
	if (attached->told)
		cpulist_add(&attached->got_cpus, cpu);
	return words == 2 || attached->told;
}

static bool is_scheduled(const struct task *task, unsigned int policy, unsigned int priority)
{
	return task->policy == policy && task->priority == priority;
}

/* Looks what of @task is neither what it had nor what it got. */
static void look_since(struct attached *attached, const struct task *task)
{
	attached->other_cpus = attached->told && !cpulist_same(&task->cpus, &attached->cpus) &&
		!cpulist_same(&task->cpus, &attached->got_cpus);
	attached->other_policy = attached->told &&
		!is_scheduled(task, attached->policy, attached->priority) &&
		!is_scheduled(task, attached->got_policy, attached->got_priority);
}

/* Names what stays, as it is not what attach has set. */
static void say_stays(struct undo_context *context, const struct attached *attached,
		      const struct task *task)
{
	char *list;

	if (!attached->other_cpus && !attached->other_policy)
		return;
	list = cpulist_text(&task->cpus);
	if (attached->other_cpus)
		error_say("/proc/%s/status: somebody has set its affinity to %s since, and so it stays; before it was %s",
			  task->tid, list, attached->list);
	if (attached->other_policy)
		error_say("/proc/%s/stat: somebody has set its policy to %u with priority %u since, and so it stays; before it was %u with priority %u",
			  task->tid, task->policy, task->priority, attached->policy,
			  attached->priority);
	context->journal->kept++;
	free(list);
}

/* Its CPUs and its policy, each whatever becomes of the other: 0, or an errno. */
static int give_back(const struct attached *attached, const struct task *task)
{
	int pinned = 0, scheduled = 0, error;
	struct task now;

	if (!attached->other_cpus && !cpulist_same(&task->cpus, &attached->cpus))
		pinned = task_set(task, &attached->cpus);
	if (!attached->other_policy &&
	    !is_scheduled(task, attached->policy, attached->priority))
		scheduled = task_schedule(task, attached->policy, attached->priority);
	error = scheduled ? scheduled : pinned;
	if (error || !task_again(&now, task))
		return error;
	if ((!attached->other_cpus && !cpulist_same(&now.cpus, &attached->cpus)) ||
	    (!attached->other_policy &&
	     !is_scheduled(&now, attached->policy, attached->priority)))
		error = EBUSY;
	task_free(&now);
	return error;
}

/* The task, which is the one that was attached, is isolated no more: 0, or an errno. */
static int end_isolation(const struct undo_context *context, const char *tid)
{
	/* What has failed has isolated nothing: it would end what another has. */
	int fd = context->failed ? -1 : device_open(context->root), error;

	if (fd < 0)
		return 0;
	error = device_stop(fd, (pid_t)strtol(tid, NULL, 10));
	close(fd);
	/* It was not isolated, or its isolation has ended. */
	return error == ESRCH ? 0 : error;
}

bool run_undo_attach(struct undo_context *context, char **fields)
{
	const char *tid = fields[JOURNAL_NAME];
	struct attached attached;
	char *path, *should;
	struct task task;
	int error = 0;

	if (!read_attached(fields[JOURNAL_TEXT], &attached)) {
		free(attached.list);
		return undo_damaged_line(context);
	}
	if (!task_read(&task, context->root, tid)) {
		free(attached.list);
		return true;
	}
	if (!strcmp(task.start, fields[JOURNAL_VALUE])) {
		look_since(&attached, &task);
		error = end_isolation(context, tid);
		if (!error)
			error = give_back(&attached, &task);
		error = error == ESRCH ? 0 : error;
		if (!error)
			say_stays(context, &attached, &task);
	}
	if (error) {
		path = text_format("/proc/%s/status", tid);
		error_say("%s: %s: it should not be isolated any more, its affinity %s and its policy %u with priority %u: isolator detach %s as root",
			  path, strerror(error), attached.list, attached.policy,
			  attached.priority, tid);
		should = text_format("%s %u %u", attached.list, attached.policy,
				     attached.priority);
		undo_fail(context, path, should, strerror(error));
		free(should);
		free(path);
	}
	task_free(&task);
	free(attached.list);
	return !error;
}
