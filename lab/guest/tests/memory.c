// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: memory
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: nobody touches the isolated task's memory: merging, compaction, clearing and page-out keep off
 */
#include <sys/uio.h>
#include "../test.h"

enum { PAGES = 64 };

static char *area;

static void use(struct worker *w)
{
	area[(w->rounds % PAGES) * 4096]++;
}

static int ask_pageout(pid_t pid)
{
	struct iovec vec = { area, PAGES * 4096 };
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	long ret = syscall(SYS_process_madvise, fd, &vec, 1, MADV_PAGEOUT, 0);
	int error = ret < 0 ? errno : 0;

	close(fd);
	return error;
}

/* How often KSM has looked at all memory. */
static unsigned long full_scans(void)
{
	char text[32];

	if (get_file("/sys/kernel/mm/ksm/full_scans", text, sizeof(text)))
		return 0;
	return strtoul(text, NULL, 10);
}

/* What threads of CPU 1 asked for that wake up by themselves, late on a slow host. */
static uint64_t own_threads(void)
{
	FILE *f = fopen("/proc/isolator/senders", "r");
	uint64_t sum = 0;
	char line[1024];

	while (f && fgets(line, sizeof(line), f)) {
		const char *queued = strstr(line, " queued ");

		if (queued && strstr(line, "cpu 1 sender callback - kind thread ") == line &&
		    (strstr(line, " comm rcuc/") || strstr(line, " comm ksoftirqd/") ||
		     strstr(line, " comm ktimers/")))
			sum += strtoull(queued + strlen(" queued "), NULL, 10);
	}
	if (f)
		fclose(f);
	return sum;
}

int main(void)
{
	struct worker *w = worker_new(1);
	unsigned long scans = full_scans();
	uint64_t threads;
	char path[64];

	iso_require(2);
	area = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(area, 0x42, PAGES * 4096);
	madvise(area, PAGES * 4096, MADV_MERGEABLE);
	w->deadline_ns = 60 * SEC;
	w->each = use;
	need_worker(worker_process(w));
	worker_tells(w);
	put_file("/sys/kernel/mm/ksm/pages_to_scan", "1000");
	/* The second whole look merges what the first one has seen, in a kernel that has KSM. */
	if (!put_file("/sys/kernel/mm/ksm/run", "1"))
		until(full_scans() >= scans + 2);
	put_file("/sys/kernel/mm/ksm/run", "0");
	ok(!put_file("/proc/sys/vm/compact_memory", "1"), "compaction returns");
	ok(!put_file("/proc/sys/vm/drop_caches", "3"), "dropping caches returns");
	snprintf(path, sizeof(path), "/proc/%d/clear_refs", w->tid);
#ifdef __aarch64__	/* without ARM64_HW_AFDBM, as on ARMv8.0, only a fault sets them again */
	ok(put_file(path, "1") == -EBUSY, "clearing referenced bits: EBUSY");
#else
	ok(!put_file(path, "1"), "clearing referenced bits returns");
#endif
	ok(put_file(path, "4") == -EBUSY, "clearing soft-dirty bits: EBUSY");
	ok(ask_pageout(w->tid) == EBUSY, "page-out of its memory: EBUSY");
	worker_tells(w);
	ok(!w->missed && w->end == ISOLATOR_END_NONE, "still isolated, %lu deadline misses",
	   w->missed);
	threads = own_threads();
	if (!ok(w->queued <= threads,
		"nothing was asked of its CPU: %lu queued, %lu by its threads",
		w->queued, threads))
		show_deliveries();
	worker_end(w);
	return done_testing();
}
