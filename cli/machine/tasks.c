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

static int by_tid(const void *a, const void *b)
{
	const struct tasks_one *x = *(const struct tasks_one *const *)a;
	const struct tasks_one *y = *(const struct tasks_one *const *)b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Whoever can make tasks can make many: each finds its parent without a look at all. */
static void connect(struct tasks *tasks)
{
	size_t room = 0;

	for (size_t i = 0; i < tasks->count; i++)
		*ARRAY_ADD(tasks->by_tid, room) = &tasks->list[i];
	if (room)
		qsort(tasks->by_tid, room, sizeof(*tasks->by_tid), by_tid);
	for (size_t i = 0; i < tasks->count; i++) {
		struct tasks_one *one = &tasks->list[i];

		one->from = one->parent ? tasks_find(tasks, one->parent) : NULL;
	}
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
	connect(tasks);
	return 0;
}

const struct tasks_one *tasks_find(const struct tasks *tasks, long tid)
{
	const struct tasks_one wanted = { .tid = tid }, *key = &wanted;
	const struct tasks_one **found = tasks->count ?
		bsearch(&key, tasks->by_tid, tasks->count, sizeof(*tasks->by_tid), by_tid) : NULL;

	return found ? *found : NULL;
}

void tasks_free(struct tasks *tasks)
{
	for (size_t i = 0; i < tasks->count; i++)
		task_free(&tasks->list[i].task);
	free(tasks->by_tid);
	free(tasks->list);
	*tasks = (struct tasks){ 0 };
}
