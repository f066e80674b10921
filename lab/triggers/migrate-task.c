// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: migrate-task
 * row: 18
 * class: exclude
 * kind: program
 * notick: no
 * append: numa=fake=2
 * about: somebody else moves the task's memory to the other node and back; an isolated one's stays
 */
#include "numa.h"
#include "trigger.h"

/* Pages of the task's anonymous memory on each node. */
static void where(int pid, long on[2])
{
	char line[4096];
	long n;
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/numa_maps", pid);
	f = fopen(line, "r");
	need(f);
	on[0] = on[1] = 0;
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, " anon="))
			continue;
		for (int node = 0; node < 2; node++) {
			const char *at = strstr(line, node ? " N1=" : " N0=");

			if (at && sscanf(at + 4, "%ld", &n) == 1)
				on[node] += n;
		}
	}
	fclose(f);
}

/* The number of pages that stayed where they were. */
static long move(int pid, int node)
{
	unsigned long to = 1UL << node, from = 3 & ~to;

	return syscall(SYS_migrate_pages, pid, 8 * sizeof(to), &from, &to);
}

int main(void)
{
	int pid = env_number("TASK_PID"), home, away;
	long before[2], now[2], after[2], stayed;

	if (!numa_two_nodes())
		answer(false, "done", "missing: a second memory node");
	where(pid, before);
	home = before[1] > before[0];
	away = !home;
	stayed = move(pid, away);
	if (stayed < 0 && errno == EBUSY)
		answer(true, "refused", "EBUSY");
	need(stayed >= 0);
	where(pid, now);
	need(move(pid, home) >= 0);
	where(pid, after);
	if (now[home] == before[home])
		answer(stayed > 0, "done", "all %ld pages stayed, as the call says",
		       before[home]);
	answer(now[away] > before[away] && after[home] > now[home], "done",
	       "of %ld pages %ld moved, %ld came back", before[home],
	       before[home] - now[home], after[home] - now[home]);
}
