// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: poke-task
 * row: 93
 * class: queue
 * kind: program
 * notick: no
 * about: another process writes into a read-only page of the task's, as a debugger does
 */
#include "trigger.h"

enum { ROUNDS = 3, PAGE = 4096 };

/* The last page of the program's read-only data: the spin loop needs nothing there. */
static uint64_t target(int pid)
{
	unsigned long from, to, page = 0;
	char line[512], perms[8];
	FILE *f;

	snprintf(line, sizeof(line), "/proc/%d/maps", pid);
	f = fopen(line, "r");
	need(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3 &&
		    !strcmp(perms, "r--p") && strstr(line, "spinner"))
			page = to - PAGE;
	fclose(f);
	return page;
}

int main(void)
{
	int pid = env_number("TASK_PID"), mem, seen = 0;
	uint64_t page = target(pid);
	unsigned char old, now;
	char name[64];

	need(page);
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	mem = open(name, O_RDWR);
	need(mem >= 0);
	/* The last byte is padding; it is given back. */
	page += PAGE - 1;
	need(pread(mem, &old, 1, (off_t)page) == 1);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned char want = (unsigned char)(old + 1 + i);

		need(pwrite(mem, &want, 1, (off_t)page) == 1);
		need(pread(mem, &now, 1, (off_t)page) == 1);
		seen += now == want;
	}
	need(pwrite(mem, &old, 1, (off_t)page) == 1);
	answer(seen == ROUNDS, "done", "%d of %d writes read back", seen, ROUNDS);
}
