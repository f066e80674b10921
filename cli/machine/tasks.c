// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "machine/capture.h"
#include "machine/tasks.h"

static void add(struct tasks *tasks, const char *root, const char *pid, const char *tid)
{
	struct tasks_one *one;
	struct task task;
	long process = strtol(pid, NULL, 10);

	if (!text_is_number(tid) || !task_read(&task, root, tid))
		return;
	one = ARRAY_ADD(tasks->list, tasks->count);
	one->task = task;
	one->tid = strtol(tid, NULL, 10);
	/* Which thread has made another one the kernel does not tell: the first stands for it. */
	one->parent = one->tid == process ? (long)task.parent : process;
	one->start = strtoull(task.start, NULL, 10);
}

int tasks_read(struct tasks *tasks, const char *root)
{
	struct capture capture;
	char **pids;
	size_t count;

	*tasks = (struct tasks){ 0 };
	if (capture_open(&capture, root))
		return -1;
	pids = capture_names(&capture, "/proc", &count);
	for (size_t i = 0; i < count; i++) {
		char *path, **tids;
		size_t threads;

		if (!text_is_number(pids[i]))
			continue;
		path = text_format("/proc/%s/task", pids[i]);
		tids = capture_names(&capture, path, &threads);
		for (size_t k = 0; k < threads; k++)
			add(tasks, root, pids[i], tids[k]);
		/* A capture may have processes only. */
		if (!threads)
			add(tasks, root, pids[i], pids[i]);
		capture_names_free(tids, threads);
		free(path);
	}
	capture_names_free(pids, count);
	capture_free(&capture);
	return 0;
}

const struct tasks_one *tasks_find(const struct tasks *tasks, long tid)
{
	for (size_t i = 0; i < tasks->count; i++)
		if (tasks->list[i].tid == tid)
			return &tasks->list[i];
	return NULL;
}

void tasks_free(struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->count; i++)
		task_free(&tasks->list[i].task);
	free(tasks->list);
	*tasks = (struct tasks){ 0 };
}
