// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: ksm-merge
 * row: 18
 * class: exclude
 * kind: program
 * notick: yes
 * in: run
 * about: the page merger runs over a process full of equal pages
 */
#include "trigger.h"

#define KSM "/sys/kernel/mm/ksm/"
enum { PAGES = 64 };

static void put(const char *file, const char *value)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0)
		answer(false, "done", "missing: %s", file);
	need(write(fd, value, strlen(value)) == (ssize_t)strlen(value));
	close(fd);
}

static int sharing(void)
{
	FILE *f = fopen(KSM "pages_sharing", "r");
	int n = 0;

	need(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

int main(void)
{
	char *p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int merged = 0, left;

	need(p != MAP_FAILED);
	memset(p, 0x42, PAGES * 4096);
	put(KSM "sleep_millisecs", "1");
	put(KSM "pages_to_scan", "1000");
	put(KSM "run", "1");
	need(!madvise(p, PAGES * 4096, MADV_MERGEABLE));
	for (int wait = 0; wait < 500 && merged < PAGES / 2; wait++) {
		usleep(5000);
		merged = sharing();
	}
	put(KSM "run", "2");	/* unmerges everything, by the time it returns */
	left = sharing();
	put(KSM "run", "0");
	put(KSM "sleep_millisecs", "20");
	put(KSM "pages_to_scan", "100");
	answer(merged >= PAGES / 2 && !left && p[4096] == 0x42, "done",
	       "%d of %d pages merged, %d left after unmerge", merged, PAGES, left);
}
