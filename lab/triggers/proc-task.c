// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: proc-task
 * row: 125
 * class: exclude
 * kind: program
 * notick: no
 * about: another process reads what /proc tells about the task
 */
#include "trigger.h"

enum { ROUNDS = 3 };

/* Reads all of a file of the process, or of the thread; its size. */
static long size_of(int thread, const char *file, char *first, size_t size)
{
	char name[96], buf[4096];
	long total = 0, n;
	int fd;

	if (thread)
		snprintf(name, sizeof(name), "/proc/%d/task/%d/%s",
			 env_number("TASK_PID"), thread, file);
	else
		snprintf(name, sizeof(name), "/proc/%d/%s", env_number("TASK_PID"), file);
	fd = open(name, O_RDONLY);
	if (fd < 0 && errno == ENOENT)
		return 0;	/* this kernel does not have it */
	need(fd >= 0);
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (!total)
			snprintf(first, size, "%.*s", (int)n, buf);
		total += n;
	}
	need(n == 0);
	close(fd);
	return total;
}

int main(void)
{
	static const char *const of_process[] = {
		"stat", "statm", "status", "maps", "smaps", "smaps_rollup", "numa_maps",
		"cmdline", "environ", "auxv", "limits", "wchan",
	};
	static const char *const of_thread[] = {
		"stat", "status", "stack", "sched", "schedstat", "syscall", "wchan",
	};
	int tid = env_number("TASK_TID"), running = 0;
	long size = 0;
	char first[64];

	for (int i = 0; i < ROUNDS; i++) {
		for (size_t f = 0; f < sizeof(of_process) / sizeof(*of_process); f++)
			size += size_of(0, of_process[f], first, sizeof(first));
		for (size_t f = 0; f < sizeof(of_thread) / sizeof(*of_thread); f++) {
			size += size_of(tid, of_thread[f], first, sizeof(first));
			if (!strcmp(of_thread[f], "syscall"))
				running += !strncmp(first, "running", 7);
		}
	}
	answer(running == ROUNDS && size > 0, "done",
	       "%ld bytes, and %d times of %d it was seen to run", size, running, ROUNDS);
}
