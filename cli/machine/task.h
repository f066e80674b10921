/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A task's affinity and policy.  On the running machine they are the task's own; below
 * another root they are what stands in its files status and stat.
 */
#ifndef TASK_H
#define TASK_H

#include <stdbool.h>

#include "base/cpulist.h"

struct task {
	const char *root;
	char *tid;
	int pid;	/* of its process */
	char *name;	/* as it calls itself, may have control characters */
	char *start;	/* when it began; two that had one tid differ in it */
	bool kernel;	/* a thread of the kernel */
	bool bound;	/* nobody may move it */
	struct cpulist cpus;
	unsigned int parent;	/* the process that began its process */
	unsigned int policy, priority;	/* as of sched_setscheduler(2) */
};

/* Can @text, as a user gave it, be the number of a task?  0, or -1, said what can. */
int task_check_tid(const char *text);

/* False: there is none, or it ends just now. */
bool task_read(struct task *task, const char *root, const char *tid);

/* Reads the same task once more; false: it has ended, and maybe another has its number. */
bool task_again(struct task *now, const struct task *task);

void task_free(struct task *task);

/* 0 or the errno; ESRCH: it has ended, and whoever has its number keeps what it has. */
int task_set(const struct task *task, const struct cpulist *cpus);

/* The same for its policy and priority. */
int task_schedule(const struct task *task, unsigned int policy, unsigned int priority);

/* Its name, to be freed; NULL: it has ended. */
char *task_name(const struct task *task);

#endif
