/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds of unmap, reuse and read: who reads another mapping's data? */
#ifndef LAB_QUARANTINE_REUSE_H
#define LAB_QUARANTINE_REUSE_H

#include "quarantine.h"

enum {
	PAGES_MOST = 16,
	OTHERS = 8,			/* mappings that take the pages that were freed */
	OTHERS_SIZE = PAGES_MOST * PAGE,
	LEFT_MB = 160,			/* of the guest's memory */
	PRESSURE = 48 << 20,
};

static inline long available_mb(void)
{
	char text[2048], *at;

	if (get_file("/proc/meminfo", text, sizeof(text)))
		bail_out("/proc/meminfo");
	at = strstr(text, "MemAvailable:");
	return at ? atol(at + strlen("MemAvailable:")) / 1024 : 0;
}

/* Has most of the memory, and takes and gives back the rest: pages go round. */
static inline pid_t pressure(void)
{
	long hog = available_mb() - LEFT_MB;
	pid_t pid = fork();

	if (pid)
		return pid;
	/* It has what the rounds leave of that CPU: memory goes round, and they end in time. */
	if (nice(19) < 0)
		_exit(2);
	if (hog > 0)
		fill_other(map((size_t)hog << 20), (size_t)hog << 20);
	for (;;) {
		char *p = map(PRESSURE);

		fill_other(p, PRESSURE);
		munmap(p, PRESSURE);
	}
}

/* Whoever gets the pages now writes something else into them, elsewhere. */
static inline void reuse(unsigned int round)
{
	char *at = (char *)0x100000000000 + round % OTHERS * 2 * (size_t)OTHERS_SIZE;

	munmap(at, OTHERS_SIZE);
	if (mmap(at, OTHERS_SIZE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_FIXED, -1, 0) != at)
		bail_out("mmap");
	fill_other(at, OTHERS_SIZE);
}

/* Rounds after which the next mapping takes the same addresses, and has to wait. */
static inline bool again(unsigned int round)
{
	return round % 8 == 5;
}

/* The n-th mapping, where the last one was or where the kernel wants it. */
static inline char *map_round(unsigned int round, char *last, size_t size)
{
	char *p;

	if (!round || !again(round - 1))
		return map(size);
	p = mmap(last, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (p != last)
		bail_out("mmap");
	return p;
}

/*
 * Each round the isolated thread reads a mapping of some pages, which then goes away by
 * munmap() or by advice; it reads on, while others get memory.  True: each page that it
 * read was the mapping's that was there, and none was an earlier one's.
 */
static inline bool quarantine_rounds(unsigned int rounds, unsigned int tick_ms)
{
	struct worker *w = reader(tick_ms);
	pid_t hog = pressure();
	uint64_t began;
	char *p = NULL;

	began = now_ns();
	for (unsigned int i = 0; i < rounds; i++) {
		size_t pages = 1 + (size_t)rand() % PAGES_MOST, size = PAGES_MOST * PAGE;
		uint64_t reads, end;

		p = map_round(i, p, size);
		munlock(p, size);
		fill(p, size, i + 1);
		if (!watch(p, pages, i + 1))
			bail_out("the isolated thread does not read");
		if (i % 4 == 3 && !again(i))
			madvise(p, size, MADV_DONTNEED);
		else
			munmap(p, size);
		reads = watched.reads;
		reuse(i);
		/* It reads on, or got SIGSEGV after a tick. */
		end = now_ns() + SEC;
		while (watched.gone != watched.turn && watched.reads < reads + 3 && now_ns() < end)
			;
		if (i % 4 == 3 && !again(i))
			munmap(p, size);
	}
	diag("%u rounds in %llu ms", rounds, (unsigned long long)(now_ns() - began) / 1000000);
	kill(hog, SIGKILL);
	waitpid(hog, NULL, 0);
	worker_end(w);
	diag("%lu reads, %lu faults, %lu ticks, %lu times others waited", watched.reads,
	     watched.faults, w->ticks, waits());
	diag("%lu times other memory was read, %lu times an earlier mapping", watched.foreign,
	     watched.stale);
	return !watched.foreign && !watched.stale;
}

/*
 * For planted faults, of a task that does nothing but read what was there.  It ticks so
 * seldom that each fault shows: a tick between the removal and what comes after hides it.  In a
 * slow guest a round takes half a second; D_spin bounds how seldom it may be.
 */
static inline bool quarantine_holds(void)
{
	watched.foreign = 0;
	watched.stale = 0;
	return quarantine_rounds(60, guest_slower() > 1 ? 500 : 100);
}

static inline int quarantine_reuse(unsigned int rounds)
{
	iso_require(2);
	ok(quarantine_rounds(rounds, 5), "nobody read another mapping's data in %u rounds", rounds);
	ok(watched.reads > rounds, "the isolated thread read all the time");
	ok(quarantine_empties(), "the quarantine is empty");
	return done_testing();
}

#endif
