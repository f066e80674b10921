// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: perf-self
 * row: 89, 69
 * class: defer
 * kind: program
 * notick: no
 * user: yes
 * in: check
 * about: an unprivileged thread counts its own page faults: the code that counts is patched in
 */
#include <linux/perf_event.h>
#include "trigger.h"

enum { ROUNDS = 5, PAGES = 10, PAGE = 4096 };

/* One page fault for each page. */
static void touch(void)
{
	volatile char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(p != MAP_FAILED);
	for (int i = 0; i < PAGES; i++)
		p[i * PAGE] = 1;
	munmap((void *)p, PAGES * PAGE);
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.exclude_kernel = 1,	/* what anybody may count */
		.exclude_hv = 1,
	};
	uint64_t faults = 0;
	int counted = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

		need(fd >= 0);
		touch();
		need(read(fd, &faults, sizeof(faults)) == sizeof(faults));
		counted += faults >= PAGES;
		close(fd);
	}
	answer(counted == ROUNDS, "done", "%d of %d counters saw their page faults, the last %lu",
	       counted, ROUNDS, faults);
}
