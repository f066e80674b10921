// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quarantine
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 120
 * about: what siblings unmap waits for the isolated thread's tick, and they do not
 */
#include "quarantine.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif

enum { BIG = 64 << 20, SMALL = 64 << 10, HUGE = 2 << 20 };

static struct worker *w;
static uint64_t number;

/* The isolated thread takes part in nothing until it ticks. */
static void big(uint64_t alone)
{
	uint64_t waited = waits(), deferred = counted(FLUSHED, " deferred ");
	char *p = map_watched(BIG, ++number);
	uint64_t took = unmap_ns(p, BIG), held = quarantined(), seen, reads;

	ok(waits() == waited, "nobody waited for an munmap() of %d MiB", BIG >> 20);
	ok(counted(FLUSHED, " deferred ") > deferred, "its flush is the task's next entry");
	ok(held >= BIG && held < BIG + BIG / 16, "%lu MiB wait in the quarantine", held >> 20);
	diag("it took %lu us, %lu us with no task isolated", took / 1000, alone / 1000);
	seen = watched.faults;
	reads = watched.reads;
	ok(wait_for(&watched.reads, reads + 3, 5000) && watched.faults == seen &&
	   !watched.foreign && !watched.stale,
	   "the isolated thread goes on reading what was there");
	ok(worker_tick(w, 5000), "it ticks");
	ok(wait_for(&watched.faults, seen + 1, 5000), "and gets SIGSEGV where nothing is any more");
	ok(quarantine_empties(), "the quarantine is empty");
}

static void bounded(void)
{
	char text[64], *p = map_watched(BIG, ++number), *old = limit_now();
	uint64_t waited = waits();

	snprintf(text, sizeof(text), "quarantine_bytes %d", BIG / 2);
	ok(!put_file(LIMIT, text), "the quarantine may hold half of that");
	unmap_ns(p, BIG);
	ok(waits() > waited, "munmap() waits for what is more than its limit");
	ok(quarantined() <= BIG / 2, "and it holds no more: %lu MiB", quarantined() >> 20);
	ok(!put_file(LIMIT, old), "the limit is what it was");
	ok(put_file(LIMIT, "quarantine_bytes 100000000000000") == -ERANGE,
	   "half of the memory at most");
	worker_tick(w, 5000);
	ok(quarantine_empties(), "the quarantine is empty");
}

/* The addresses wait, too: what is mapped there is not what the task may still read. */
static void addresses(void)
{
	char *p = map_watched(SMALL, ++number), *q;
	uint64_t waited = waits();

	unmap_ns(p, SMALL);
	q = map(SMALL);
	ok(waits() == waited && (q + SMALL <= p || q >= p + SMALL),
	   "mmap() takes other addresses, and waits for nobody");
	munmap(q, SMALL);
	for (int i = 0; i < 20; i++) {
		q = map(SMALL);
		fill(q, SMALL, 1);
		munmap(q, SMALL);
	}
	ok(waits() == waited, "nor does who maps and unmaps 20 times");
	q = mmap(p, SMALL, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	waited = waits() - waited;
	ok(q == p && waited, "a mapping at the same addresses waits: %lu", waited);
	fill(q, SMALL, ++number);
	watch(q, 1, number);
	ok(!watched.stale && !watched.foreign, "and the task reads what is there now");

	waited = waits();
	unmap_ns(q, SMALL);
	p = map(PAGE);
	p[0] = 1;
	q = mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q + PAGE);
	ok(q != MAP_FAILED && waits() > waited, "so does mremap() to there");
	munmap(q, PAGE);
	worker_tick(w, 5000);
	ok(quarantine_empties(), "the quarantine is empty");
}

/*
 * After advice the memory is there, and what the thread writes to it is not to be lost: it
 * learns of the advice from memory, and enters no kernel.
 */
static void advice(void)
{
	char *q = map_watched(SMALL, ++number), *p = q + 4 * PAGE;
	struct page *page = (struct page *)q;
	uint64_t waited = waits();

	ok(!madvise(q, PAGE, MADV_DONTNEED_LOCKED) && waits() > waited,
	   "MADV_DONTNEED_LOCKED waits");
	/* As a worker locks what is mapped, and no other advice is taken on locked memory. */
	munlock(q, SMALL);
	page->number = number;
	watch(q, 1, number);
	waited = waits();
	ok(!madvise(q, PAGE, MADV_DONTNEED) && waits() > waited, "MADV_DONTNEED waits");
	watched.write = ++number;
	until(!watched.write);
	ok(page->number == number, "what the isolated thread writes there is seen");

	waited = waits();
	watch(p, 1, number - 1);	/* as it was filled before */
	ok(!madvise(p, PAGE, MADV_FREE) && waits() > waited, "MADV_FREE waits");
	waited = waits();
	watch(p, 1, number - 1);
	ok(!mprotect(p, PAGE, PROT_READ) && waits() > waited, "mprotect() waits");
	watched.at = NULL;
	munmap(q, SMALL);
	worker_tick(w, 5000);
	ok(quarantine_empties(), "the quarantine is empty");
}

/* What brk() and mremap() cut off is unmapped; what lies under a new mapping, or moves, waits. */
static void cut_off(void)
{
	uint64_t waited = waits();
	char *p = sbrk(SMALL), *q;

	fill(p, SMALL, ++number);
	watch(p, 1, number);
	sbrk(-SMALL);
	ok(waits() == waited && quarantined() >= SMALL, "nobody waited for brk()");
	worker_tick(w, 5000);
	ok(quarantine_empties(), "the quarantine is empty");

	p = map_watched(SMALL, ++number);
	waited = waits();
	ok(mremap(p, SMALL, PAGE, 0) == p && waits() == waited && quarantined() >= SMALL - PAGE,
	   "nor for mremap() that makes a mapping smaller");
	q = map(PAGE);
	waited = waits();
	ok(mremap(p, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q && waits() > waited,
	   "mremap() that moves it waits");
	fill(q, PAGE, number);
	watch(q, 1, number);
	waited = waits();
	ok(mmap(q, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == q &&
	   waits() > waited, "so does a mapping over another");
	munmap(q, PAGE);
	worker_tick(w, 5000);
	ok(quarantine_empties(), "the quarantine is empty");
}

/* Nothing of a file or of a shared mapping waits but its remover. */
static void unfit(const char *what, int flags)
{
	int fd = memfd_create("quarantine", MFD_CLOEXEC);
	uint64_t waited;
	char *p;

	if (fd < 0 || ftruncate(fd, SMALL))
		bail_out("memfd");
	p = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (p == MAP_FAILED)
		bail_out("mmap");
	fill(p, SMALL, ++number);
	watch(p, 1, number);
	waited = waits();
	munmap(p, SMALL);
	ok(waits() > waited, "munmap() of a %s waits", what);
	close(fd);
}

/* A page keeps its folio: of a huge one, that is what counts. */
static void huge(void)
{
	/* Memory that is locked has small pages at once, unless it cannot be accessed. */
	char *p = mmap(NULL, 2 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = (char *)(((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	uint64_t held;

	if (p == MAP_FAILED || munlock(p, 2 * HUGE) ||
	    mprotect(p, 2 * HUGE, PROT_READ | PROT_WRITE))
		bail_out("mmap");
	if (madvise(at, HUGE, MADV_HUGEPAGE)) {
		diag("no huge pages");
	} else {
		fill(at, HUGE, ++number);
		ok(file_has("/proc/self/smaps_rollup", "AnonHugePages:", " 2048 kB", NULL),
		   "there is a huge page");
		munmap(at + 4 * PAGE, PAGE);
		held = quarantined();
		ok(held >= HUGE && held < HUGE + HUGE / 4,
		   "one small page of it keeps all of it: %lu KiB wait", held >> 10);
	}
	munmap(p, 2 * HUGE);
	worker_tick(w, 5000);
	ok(quarantine_empties(), "the quarantine is empty");
}

/* A process that ends with a full quarantine leaves nothing behind. */
static void ends(void)
{
	char before[64], *p;
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		w = reader(0);
		p = map_watched(BIG, ++number);
		munmap(p, BIG);
		_exit(quarantined() >= BIG ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "a process exits with a full quarantine");
	ok(!get_file("/proc/isolator/status", before, sizeof(before)) && !quarantined(),
	   "which is gone");
}

int main(void)
{
	uint64_t alone;
	char *p;

	iso_require(2);
	ends();
	p = map(BIG);
	fill(p, BIG, 1);
	/* As all memory is once the worker runs. */
	if (mlock(p, BIG))
		bail_out("mlock");
	alone = unmap_ns(p, BIG);
	w = reader(0);
	ok(file_has("/proc/isolator/status", " quarantine 1 ", NULL),
	   "status says that it has one");
	big(alone);
	bounded();
	addresses();
	advice();
	cut_off();
	unfit("shared mapping", MAP_SHARED);
	unfit("private mapping of a file", MAP_PRIVATE);
	huge();
	p = map_watched(BIG, ++number);
	munmap(p, BIG);
	ok(quarantined() >= BIG, "the isolation ends with a full quarantine");
	worker_end(w);
	ok(!watched.foreign && !watched.stale,
	   "nothing wrong was read in %lu rounds", watched.reads);
	return done_testing();
}
