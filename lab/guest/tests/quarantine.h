/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of the quarantine share: an isolated reader, and what becomes of removals. */
#ifndef LAB_QUARANTINE_H
#define LAB_QUARANTINE_H

#include <setjmp.h>
#include "../test.h"
#include "counted.h"

#define LIMIT	"/proc/isolator/limits"

enum { PAGE = 4096 };

/*
 * A page of the tests' memory begins with its own address and the number of its mapping:
 * what is read at an address tells whose it is.  Other memory has its addresses inverted.
 */
struct page {
	volatile uint64_t address, number;
	char rest[PAGE - 16];
};

static inline void fill(void *at, size_t size, uint64_t number)
{
	struct page *page = at;

	for (size_t i = 0; i < size / PAGE; i++) {
		page[i].number = number;
		page[i].address = (uintptr_t)&page[i];
	}
}

static inline void fill_other(void *at, size_t size)
{
	struct page *page = at;

	for (size_t i = 0; i < size / PAGE; i++)
		page[i].address = ~(uint64_t)(uintptr_t)&page[i];
}

/* What the isolated thread reads, all the time. */
struct watched {
	struct page *_Atomic at;	/* NULL: nothing */
	_Atomic uint64_t turn, gone;	/* how often it was told; the turn that ended in a fault */
	_Atomic uint64_t number;	/* of the mapping that it was told of */
	_Atomic size_t pages;
	_Atomic uint64_t write;		/* what it is to write as its number; 0: it has */
	_Atomic uint64_t reads, faults;
	_Atomic uint64_t foreign, stale; /* other memory; an earlier mapping's */
};

static struct watched watched;
static __thread sigjmp_buf back;

static inline void on_fault(int sig)
{
	siglongjmp(back, 1);
}

/* No system call; until it faults, or is told of something else. */
static inline void read_watched(struct worker *w)
{
	/* The turn first: a fault is never a later turn's, of which we may have been told since. */
	uint64_t turn = watched.turn;
	struct page *at = watched.at;
	uint64_t number = watched.number, seen, whose;

	if (!at || watched.gone == turn)
		return;
	if (sigsetjmp(back, 0)) {
		watched.gone = turn;
		watched.faults++;
		return;
	}
	if (watched.write) {
		at->number = watched.write;
		watched.write = 0;
	}
	for (size_t i = 0; i < watched.pages; i++) {
		whose = at[i].address;
		seen = at[i].number;
		/* We were told of another since. */
		if (watched.at != at || watched.number != number)
			return;
		/* Nothing was written there yet, where it was mapped anew. */
		if (whose && whose != (uintptr_t)&at[i])
			watched.foreign++;
		else if (seen && seen < number)
			watched.stale++;
	}
	watched.reads++;
}

/* Tells the isolated thread of a mapping, and waits until it has all of it in its TLB. */
static inline bool watch(void *at, size_t pages, uint64_t number)
{
	uint64_t end = now_ns() + 5 * SEC, seen;

	watched.at = NULL;
	watched.turn++;
	watched.number = number;
	watched.pages = pages;
	watched.at = at;
	seen = watched.reads;
	while (watched.reads < seen + 3 && now_ns() < end)
		;
	return watched.reads >= seen + 3;
}

static inline char *map(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bail_out("mmap");
	return p;
}

/*
 * One page of it is read all the time: it stays in the TLB, as would not all of them, and
 * where it has to be looked up again after it is gone the thread would fault and enter the kernel.
 */
static inline char *map_watched(size_t size, uint64_t number)
{
	char *p = map(size);

	fill(p, size, number);
	if (!watch(p, 1, number))
		bail_out("the isolated thread does not read");
	return p;
}

static inline uint64_t unmap_ns(char *p, size_t size)
{
	uint64_t before = now_ns();

	if (munmap(p, size))
		bail_out("munmap");
	return now_ns() - before;
}

/* What all quarantines may hold: the line that sets it again. */
static inline char *limit_now(void)
{
	static char old[1024];
	char *at;

	if (get_file(LIMIT, old, sizeof(old)) || !(at = strstr(old, "quarantine_bytes")))
		bail_out("no limit of the quarantine");
	*strchr(at, '\n') = 0;
	return at;
}

#define FLUSHED	"cpu 1 callback flush_tlb_removed "

/* How often somebody waited for the isolated CPU because of this memory. */
static inline uint64_t waits(void)
{
	return counted("cpu 1 callback flush_tlb_func ", " queued ") +
	       counted(FLUSHED, " queued ") +
	       counted("cpu 1 callback isolator_entered ", " queued ");
}

static inline uint64_t quarantined(void)
{
	char text[4096], *at;

	if (get_file("/proc/isolator/status", text, sizeof(text)))
		bail_out("/proc/isolator/status");
	at = strstr(text, " quarantine_bytes ");
	return at ? strtoull(at + 18, NULL, 10) : 0;
}

static inline bool quarantine_empties(void)
{
	return comes(!quarantined(), 60000);
}

static inline struct worker *reader(unsigned int tick_ms)
{
	static struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	struct worker *w = worker_new(1);

	sigaction(SIGSEGV, &sa, NULL);
	w->each = read_watched;
	w->tick_ms = tick_ms;
	w->flags = ISOLATOR_START_QUARANTINE;
	w->deadline_ns = 3600 * SEC;
	w->spin_ns = guest_slower() > 1 ? SEC : SEC / 2;	/* no more than SEC is allowed */
	w->life_s = 3600;
	need_worker(worker_thread(w));
	return w;
}

#endif
