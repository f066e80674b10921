// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: stale
 * cpus: 2
 * kernel: isolator
 * timeout: 60
 * about: a page that a sibling unmaps is never read again with somebody else's data
 */
#include <setjmp.h>
#include "../machine.h"
#include "tries.h"

enum { ROUNDS = 10, OURS = 0x11, FOREIGN = 0x77, REUSE = 2 << 20 };

/* Where the new owner's mapping cannot take the address of the old one. */
#define ELSEWHERE	((void *)0x100000000000)

static volatile char *_Atomic watched;
static _Atomic uint64_t reads, faults, foreign;
static _Atomic int foreign_value;
static __thread sigjmp_buf back;

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

/* Reads until the page is gone; no system call while it is there. */
static void read_page(struct worker *w)
{
	volatile char *p = watched;
	char value;

	(void)w;
	if (!p)
		return;
	if (sigsetjmp(back, 0)) {
		faults++;
		watched = NULL;
		return;
	}
	value = *p;
	if (value != OURS) {
		foreign_value = value;
		foreign++;
	}
	reads++;
}

static void once(struct worker *w, int round)
{
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *other;
	uint64_t seen = reads, fault = faults, wrong = foreign, before, after;

	if (p == MAP_FAILED)
		bail_out("mmap");
	p[0] = OURS;
	watched = p;
	wait_for(&reads, seen + 1000, 2000);
	before = now_ns();
	munmap(p, 4096);
	after = now_ns();
	/* Whoever gets the page now writes something else into it. */
	other = mmap(ELSEWHERE, REUSE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		     MAP_ANONYMOUS | MAP_POPULATE | MAP_FIXED_NOREPLACE, -1, 0);
	if (other == MAP_FAILED)
		bail_out("mmap");
	memset(other, FOREIGN, REUSE);
	wait_for(&faults, fault + 1, 2000);
	if (foreign != wrong)
		diag("round %d: %#x was read %lu times; munmap took %lu us; %lu ticks, %lu yields, %lu deadline misses",
		     round, foreign_value, foreign - wrong, (after - before) / 1000,
		     w->ticks, w->yields, w->missed);
	munmap(other, REUSE);
}

static void check(struct worker *w, const char *what, int rounds)
{
	uint64_t fault = faults;

	if (!worker_thread(w)) {
		ok(false, "%s: no isolated worker", what);
		return;
	}
	for (int i = 0; i < rounds; i++)
		once(w, i);
	ok(faults - fault == (uint64_t)rounds, "%s: %lu of %d readers got SIGSEGV",
	   what, faults - fault, rounds);
	ok(!foreign, "%s: foreign data was read %lu times in %lu reads", what,
	   foreign, reads);
	worker_end(w);
}

/* Its ticks serve whoever waits; its deadline misses. */
static uint64_t ticking(void)
{
	struct worker *ticks = worker_new(1);

	ticks->each = read_page;
	ticks->tick_ms = 10;
	ticks->spin_ns = SEC;
	check(ticks, "ticking", ROUNDS);
	return ticks->missed;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	struct worker *never = worker_new(1);

	iso_require(2);
	sigaction(SIGSEGV, &sa, NULL);
	ok_in_tries("ticking: no deadline miss", ticking);
	never->each = read_page;
	never->spin_ns = 200 * MS;
	never->deadline_ns = 60 * SEC;	/* threads of its CPU may wait meanwhile */
	check(never, "never ticking", 2);
	ok(IS_X86 ? never->missed >= 2 : !never->missed,
	   "never ticking: %lu deadline misses did it", never->missed);
	return done_testing();
}
