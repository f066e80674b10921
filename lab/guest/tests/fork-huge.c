// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fork-huge
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a fork beside an isolated thread leaves it its huge pages, and waits for it once
 * skips: this kernel has no transparent huge pages
 */
#include "../test.h"

enum { PAGES = 16, HUGE = 2 << 20, STEP = 4096 };

static char *area;

/* Of the whole process, in KiB. */
static long huge_kib(void)
{
	char text[4096], *line;

	if (get_file("/proc/self/smaps_rollup", text, sizeof(text)))
		bail_out("/proc/self/smaps_rollup");
	line = strstr(text, "AnonHugePages:");
	return line ? atol(line + strlen("AnonHugePages:")) : 0;
}

static long faults(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage))
		bail_out("getrusage");
	return usage.ru_minflt + usage.ru_majflt;
}

/* Is every small page as it was written, and the child's own from now on? */
static bool child_copies(void)
{
	for (size_t i = 0; i < (size_t)PAGES * HUGE; i += STEP) {
		if (area[i] != (char)(i / STEP) || area[i + 1] != 1 || area[i + STEP - 1] != 1)
			return false;
		area[i] = 0;
	}
	return true;
}

int main(void)
{
	struct worker *w;
	uint64_t queued;
	int go[2], status;
	long before;
	pid_t pid;

	iso_require(2);
	if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
		skip_all("this kernel has no transparent huge pages");
	area = mmap(NULL, (size_t)(PAGES + 1) * HUGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED || pipe(go))
		bail_out("no memory");
	area = (char *)(((uintptr_t)area + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	if (madvise(area, (size_t)PAGES * HUGE, MADV_HUGEPAGE))
		bail_out("madvise");
	memset(area, 1, (size_t)PAGES * HUGE);
	for (size_t i = 0; i < (size_t)PAGES * HUGE; i += STEP)
		area[i] = (char)(i / STEP);
	before = huge_kib();
	ok(before >= PAGES * HUGE / 1024, "%ld KiB in huge pages", before);

	w = worker_new(1);
	w->deadline_ns = 60 * SEC;
	w->tick_ms = 1;
	need_worker(worker_thread(w));
	/* What its start left has been taken. */
	worker_tick(w, 5000);
	queued = w->queued;
	pid = fork();
	if (pid < 0)
		bail_out("fork");
	if (!pid) {
		char byte;

		_exit(read(go[0], &byte, 1) != 1 || !child_copies());
	}
	worker_tick(w, 5000);
	queued = w->queued - queued;
	ok(queued < PAGES, "%lu requests queued by its CPU, for %d huge pages", queued, PAGES);
	ok(huge_kib() == before, "%ld KiB in huge pages, as before", huge_kib());
	before = faults();
	for (size_t i = 0; i < (size_t)PAGES * HUGE; i += STEP)
		((volatile char *)area)[i + 1] = 2;
	ok(faults() == before, "%ld page faults when it writes to them", faults() - before);
	ok(write(go[1], "x", 1) == 1 && waitpid(pid, &status, 0) == pid && !status,
	   "the child has copies (%#x)", status);
	ok(area[STEP] == 1 && area[2 * STEP] == 2, "of its own");
	worker_end(w);
	return done_testing();
}
