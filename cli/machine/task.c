// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"
#include "machine/affinity.h"
#include "machine/task.h"

/* Of the kernel's include/linux/sched.h, which shows them in /proc/TID/stat. */
#define PF_KTHREAD 0x00200000
#define PF_NO_SETAFFINITY 0x04000000
#define FIELD_PARENT 4
#define FIELD_FLAGS 9
#define FIELD_START 22
#define FIELD_PRIORITY 40
#define FIELD_POLICY 41

#define NAME "Name:\t"
#define PID "\nTgid:\t"
#define ALLOWED "\nCpus_allowed_list:\t"

/* Where in the file status the list of CPUs begins; NULL: nowhere. */
static const char *allowed(const char *status)
{
	const char *at = strstr(status, ALLOWED);

	return at ? at + strlen(ALLOWED) : NULL;
}

/* Of its process; 0: it is not there. */
static int pid_in(const char *status)
{
	const char *at = strstr(status, PID);

	return at ? atoi(at + strlen(PID)) : 0;
}

static char *read_file(const char *root, const char *tid, const char *name)
{
	char *path = text_format("/proc/%s/%s", tid, name);
	char *text = setting_read(root, path);

	free(path);
	return text;
}

/* Where a field of the file stat begins, counted from 1; the second may hold anything. */
static const char *stat_at(const char *stat, int field)
{
	const char *at = strrchr(stat, ')');

	for (int i = 2; at && i < field; i++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

static char *stat_field(const char *stat, int field)
{
	const char *at = stat_at(stat, field);

	return at ? text_format("%.*s", (int)strcspn(at, " \n"), at) : NULL;
}

static unsigned int stat_number(const char *stat, int field)
{
	char *text = stat_field(stat, field);
	unsigned int number = text ? (unsigned int)strtoul(text, NULL, 10) : 0;

	free(text);
	return number;
}

int task_check_tid(const char *text)
{
	/* More digits are no pid_t's. */
	if (text_is_number(text) && strlen(text) <= 9 && strtol(text, NULL, 10))
		return 0;
	error_say("\"%s\" is not a TID: use a number from /proc/PID/task, or a PID for the first thread of a process",
		  text);
	return -1;
}

bool task_read(struct task *task, const char *root, const char *tid)
{
	char *stat = read_file(root, tid, "stat"), *status = read_file(root, tid, "status");
	const char *at = status ? allowed(status) : NULL;
	char *flags = stat ? stat_field(stat, FIELD_FLAGS) : NULL;
	bool good = false;

	*task = (struct task){ .root = root };
	if (at && flags && !strncmp(status, NAME, strlen(NAME))) {
		char *list = text_format("%.*s", (int)strcspn(at, "\n"), at);
		unsigned long bits = strtoul(flags, NULL, 10);

		task->tid = text_format("%s", tid);
		task->name = text_format("%.*s", (int)strcspn(status + strlen(NAME), "\n"),
					 status + strlen(NAME));
		task->pid = pid_in(status);
		task->start = stat_field(stat, FIELD_START);
		task->parent = stat_number(stat, FIELD_PARENT);
		task->policy = stat_number(stat, FIELD_POLICY);
		task->priority = stat_number(stat, FIELD_PRIORITY);
		task->kernel = bits & PF_KTHREAD;
		task->bound = bits & PF_NO_SETAFFINITY;
		good = task->start && cpulist_read(list, &task->cpus);
		free(list);
		if (!good)
			task_free(task);
	}
	free(flags);
	free(status);
	free(stat);
	return good;
}

bool task_again(struct task *now, const struct task *task)
{
	if (!task_read(now, task->root, task->tid))
		return false;
	if (!strcmp(now->start, task->start))
		return true;
	task_free(now);
	return false;
}

void task_free(struct task *task)
{
	free(task->tid);
	free(task->name);
	free(task->start);
	task->tid = task->name = task->start = NULL;
}

/*
 * To be asked right before a change, for which the kernel takes nothing but a number.  It gives
 * numbers out in turn: for the change to reach another task, this one has to end, and as many
 * tasks have to begin as there are free numbers, tens of thousands where nobody uses them up,
 * between two system calls.  Only a privileged program chooses a number.
 */
static bool is_there(const struct task *task)
{
	char *stat = read_file(task->root, task->tid, "stat");
	char *start = stat ? stat_field(stat, FIELD_START) : NULL;
	bool same = start && !strcmp(start, task->start);

	free(start);
	free(stat);
	return same;
}

/* Another list in the file of a machine that does not run. */
static int write_status(const struct task *task, const struct cpulist *cpus)
{
	char *path = text_format("/proc/%s/status", task->tid);
	char *status = setting_read(task->root, path), *list = cpulist_text(cpus), *text;
	const char *at = status ? allowed(status) : NULL;
	int error = ESRCH;

	if (at) {
		text = text_format("%.*s%s%s", (int)(at - status), status, list,
				   at + strcspn(at, "\n"));
		error = setting_write_text(task->root, path, text);
		free(text);
	}
	free(list);
	free(status);
	free(path);
	return error;
}

int task_set(const struct task *task, const struct cpulist *cpus)
{
	if (!is_there(task))
		return ESRCH;
	if (!root_live(task->root))
		return write_status(task, cpus);
	return affinity_set((pid_t)strtol(task->tid, NULL, 10), cpus);
}

/* Another priority and policy, which stand side by side, in the file of such a machine. */
static int write_stat(const struct task *task, unsigned int policy, unsigned int priority)
{
	char *path = text_format("/proc/%s/stat", task->tid);
	char *stat = setting_read(task->root, path), *text;
	const char *at = stat ? stat_at(stat, FIELD_PRIORITY) : NULL, *end;
	int error = ESRCH;

	if (at) {
		end = stat_at(stat, FIELD_POLICY + 1);
		text = text_format("%.*s%u %u%s%s", (int)(at - stat), stat, priority, policy,
				   end ? " " : "\n", end ? end : "");
		error = setting_write_text(task->root, path, text);
		free(text);
	}
	free(stat);
	free(path);
	return error;
}

int task_schedule(const struct task *task, unsigned int policy, unsigned int priority)
{
	const struct sched_param parameter = { .sched_priority = (int)priority };
	pid_t tid = (pid_t)strtol(task->tid, NULL, 10);
	int now = 0;

	if (root_live(task->root)) {
		/* The file does not show the flag. */
		now = sched_getscheduler(tid);
		if (now < 0)
			return errno;
	}
	if (!is_there(task))
		return ESRCH;
	if (!root_live(task->root))
		return write_stat(task, policy, priority);
	return sched_setscheduler(tid, (int)policy | (now & SCHED_RESET_ON_FORK), &parameter) ?
		errno : 0;
}

char *task_name(const struct task *task)
{
	char *text = read_file(task->root, task->tid, "comm");
	char *name = text ? text_format("%.*s", (int)strcspn(text, "\n"), text) : NULL;

	free(text);
	return name;
}
