// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quarantine-gib-long
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 600
 * memory: 3G
 * alone: yes
 * long: yes
 * about: an munmap of 1 GiB (or less where slow) beside no tick: at most twice the instructions
 * equal: 1,3,5 2,4,6 kernel_instructions 100
 */
#include "../marker.h"
#include "quarantine.h"

#define GIB	(1UL << 30)

enum { ROUNDS = 3 };

MARK_WINDOW_TABLE();

/* A part of it where the kernel checks each page's way: what is compared is of the same size. */
static size_t size;

static char *map_pages(void)
{
	char *p = map(size);

	/* The dearer case: as many pages as there can be. */
	madvise(p, size, MADV_NOHUGEPAGE);
	return p;
}

/* The window of the thread that unmaps: no other's instructions are in it. */
static uint64_t unmap(char *p, unsigned int window)
{
	uint64_t took;

	mark_window_begin(window);
	took = unmap_ns(p, size);
	mark_window_end(window);
	return took;
}

int main(void)
{
	uint64_t alone, beside, waited, held;
	char text[64], *old, *p;
	struct worker *w;

	iso_require(2);
	size = GIB / guest_slower() / PAGE * PAGE;
	old = limit_now();
	snprintf(text, sizeof(text), "quarantine_bytes %zu", size + size / 8);
	ok(!put_file(LIMIT, text), "the quarantine may hold %zu MiB and its books", size >> 20);
	mark_target();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		p = map_pages();
		fill(p, size, 1);
		/* As all memory is once the worker runs. */
		if (mlock(p, size))
			bail_out("mlock");
		alone = unmap(p, 2 * i + 1);

		w = reader(0);
		waited = waits();
		p = map_pages();
		fill(p, size, i + 2);
		if (!watch(p, 1, i + 2))
			bail_out("the isolated thread does not read");
		beside = unmap(p, 2 * i + 2);
		held = quarantined();
		ok(waits() == waited, "nobody waited for the munmap()");
		ok(held >= size && held <= size + size / 8, "%lu MiB wait, no more than the limit",
		   held >> 20);
		diag("it took %lu us, %lu us with no task isolated", beside / 1000, alone / 1000);
		ok(worker_tick(w, 5000) && quarantine_empties(),
		   "the quarantine is empty after a tick");
		worker_end(w);
	}
	ok(!watched.foreign && !watched.stale,
	   "nothing wrong was read in %lu rounds", watched.reads);
	ok(!put_file(LIMIT, old), "the limit is what it was");
	return done_testing();
}
