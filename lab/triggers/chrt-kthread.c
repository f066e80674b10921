// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: chrt-kthread
 * row: 48
 * class: queue
 * kind: program
 * notick: no
 * about: the isolated CPU's own kernel threads get another priority, and their old one back
 */
#include <dirent.h>
#include "trigger.h"

enum { ROUNDS = 2 };

/* The process of that name, 0 if there is none. */
static int find(const char *name)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	int found = 0;

	need(dir);
	while (!found && (entry = readdir(dir))) {
		char path[300], comm[32] = "";
		FILE *f;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (f && fgets(comm, sizeof(comm), f)) {
			comm[strcspn(comm, "\n")] = 0;
			if (!strcmp(comm, name))
				found = atoi(entry->d_name);
		}
		if (f)
			fclose(f);
	}
	closedir(dir);
	return found;
}

static bool change(int pid, int policy, const struct sched_param *param)
{
	struct sched_param now;

	need(!sched_setscheduler(pid, policy, param));
	need(!sched_getparam(pid, &now));
	return sched_getscheduler(pid) == policy &&
		now.sched_priority == param->sched_priority;
}

int main(void)
{
	/* Those of PREEMPT_RT among them; not all are there on every kernel. */
	static const char *const names[] = { "ksoftirqd", "ktimers", "rcuc", "irq_work" };
	int cpu = env_number("ISO_CPU"), threads = 0, changes = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct sched_param home, more;
		char name[32];
		int pid, policy;

		snprintf(name, sizeof(name), "%s/%d", names[i], cpu);
		pid = find(name);
		if (!pid)
			continue;
		threads++;
		policy = sched_getscheduler(pid);
		need(policy >= 0 && !sched_getparam(pid, &home));
		more.sched_priority = home.sched_priority + 2;
		for (int round = 0; round < ROUNDS; round++) {
			changes += change(pid, SCHED_FIFO, &more);
			changes += change(pid, policy, &home);
		}
	}
	answer(threads && changes == 2 * ROUNDS * threads, "done",
	       "%d changes of %d threads read back", changes, threads);
}
