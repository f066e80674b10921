// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: pageout-task
 * row: 18
 * class: refuse
 * kind: program
 * notick: no
 * about: another process asks for the task's memory to be paged out
 */
#include <sys/uio.h>
#include "trigger.h"

/* The task's first writable private mapping that has pages. */
static struct iovec target(int pid)
{
	struct iovec area = { 0 };
	unsigned long from, to;
	char line[512], perms[8];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	f = fopen(line, "r");
	need(f);
	while (!area.iov_len && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3 &&
		    !strcmp(perms, "rw-p")) {
			area.iov_base = (void *)from;
			area.iov_len = to - from;
		}
	fclose(f);
	return area;
}

static long rss(int pid)
{
	char name[64];
	long size, resident = -1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/statm", pid);
	f = fopen(name, "r");
	need(f && fscanf(f, "%ld %ld", &size, &resident) == 2);
	fclose(f);
	return resident;
}

int main(void)
{
	int pid = env_number("TASK_PID"), pidfd, asked = 0, locked = 0, refused = 0;
	struct iovec area = target(pid);
	long before = rss(pid), after;

	need(area.iov_len);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	need(pidfd >= 0);
	for (int i = 0; i < 3; i++) {
		if (syscall(SYS_process_madvise, pidfd, &area, 1, MADV_PAGEOUT, 0) >= 0)
			asked++;
		else if (errno == EBUSY)
			refused++;
		else if (errno == EINVAL)	/* how the kernel spares locked memory */
			locked++;
		else
			need(false);
	}
	after = rss(pid);
	if (refused)
		answer(refused == 3, "refused", "EBUSY %d times of 3", refused);
	answer(asked + locked == 3 && after >= before, "done",
	       "%d asked, %d answered that it is locked, %ld to %ld pages resident",
	       asked, locked, before, after);
}
