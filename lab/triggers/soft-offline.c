// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: soft-offline
 * row: 38
 * class: quiesce
 * kind: program
 * notick: no
 * about: pages of the trigger's own are replaced as if their memory began to fail
 */
#include <linux/mman.h>
#include "trigger.h"

/* Each costs the guest a page for good. */
enum { PAGES = 3, PAGE = 4096 };

/* The number of the page of physical memory behind p. */
static uint64_t frame(const void *p)
{
	int fd = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry;

	need(fd >= 0);
	need(pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)p / PAGE * sizeof(entry))) ==
	     sizeof(entry));
	close(fd);
	return entry & ((1ULL << 55) - 1);
}

int main(void)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int replaced = 0;

	need(p != MAP_FAILED);
	for (int i = 0; i < PAGES; i++) {
		char *page = p + i * PAGE;
		uint64_t before;

		memset(page, 'a' + i, PAGE);
		before = frame(page);
		if (madvise(page, PAGE, MADV_SOFT_OFFLINE)) {
			if (errno == EINVAL)
				answer(false, "done", "missing: MADV_SOFT_OFFLINE");
			need(false);
		}
		replaced += page[0] == 'a' + i && page[PAGE - 1] == 'a' + i &&
			    frame(page) != before;
	}
	answer(replaced == PAGES, "done", "%d of %d pages replaced, their content kept",
	       replaced, PAGES);
}
