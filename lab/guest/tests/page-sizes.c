// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: page-sizes
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * alone: yes
 * timeout: 60
 * once: yes
 * about: where the size of a kernel page changes, an isolated CPU is waited for
 *
 * Alone: Linux switches a static key here with the mmap lock held, which a cpuset takes the
 * other way round.  Where lockdep has seen one, as other tests have them, it tells.
 */
#include "../test.h"

#define OPTIMIZE	"/proc/sys/vm/hugetlb_optimize_vmemmap"
#define OVERCOMMIT	"/proc/sys/vm/nr_overcommit_hugepages"
#define HUGE		(2ul << 20)

/* One huge page from the allocator: the memory map of it is mapped anew, by small pages. */
static bool huge_page(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		char *p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

		if (p == MAP_FAILED)
			_exit(1);
		p[0] = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

int main(void)
{
	struct worker *w = worker_new(1);

	iso_require(2);
	if (put_file(OPTIMIZE, "1") || put_file(OVERCOMMIT, "4"))
		bail_out("no CONFIG_HUGETLB_PAGE_OPTIMIZE_VMEMMAP");
	w->deadline_ns = 60 * SEC;
	w->spin_ns = 100 * MS;
	need_worker(worker_process(w));
	ok(huge_page(), "a huge page whose memory map is made small");
	ok(w->missed == 1 && file_has("/proc/isolator/deliveries", "do_flush_tlb_all", NULL),
	   "the flush for it waited for the isolated CPU: %lu deadline misses",
	   (uint64_t)w->missed);
	if (w->missed != 1)
		show_deliveries();
	worker_end(w);
	put_file(OVERCOMMIT, "0");
	put_file(OPTIMIZE, "0");
	return done_testing();
}
