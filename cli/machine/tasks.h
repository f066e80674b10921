/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All tasks of a machine, each thread of its own, as they are at one moment. */
#ifndef TASKS_H
#define TASKS_H

#include <stddef.h>
#include <stdint.h>

#include "machine/task.h"

struct tasks_one {
	struct task task;
	long tid;
	long parent;	/* where its affinity came from when it began, maybe */
	const struct tasks_one *from;	/* that task; NULL: it is not there */
	uint64_t start;	/* that of the task, in ticks of 10 ms since the boot */
};

struct tasks {
	struct tasks_one *list;
	size_t count;
	const struct tasks_one **by_tid;	/* the same, for tasks_find() */
};

/* Those that end meanwhile are left out.  0; -1, said why: @root cannot be read. */
int tasks_read(struct tasks *tasks, const char *root);

/* The task @tid; NULL: there is none. */
const struct tasks_one *tasks_find(const struct tasks *tasks, long tid);

void tasks_free(struct tasks *tasks);

#endif
