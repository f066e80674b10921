// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-list-late
 * cpus: 2
 * kernel: isolator-faults
 * arch: x86_64
 * timeout: 120
 * alone: yes
 * about: planted fault: what is unmapped is listed after the quarantine was freed for the last time
 */
#include "fault.h"
#include "quarantine.h"

enum { BIG = 64 << 20 };

static _Atomic bool begun;

static void *unmaps(void *p)
{
	begun = true;
	munmap(p, BIG);
	return NULL;
}

/* With the pages that CPUs keep for themselves: they have many of those that were freed last. */
static uint64_t free_bytes(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	unsigned long pages = 0, n;
	char line[128];

	if (!f)
		bail_out("/proc/zoneinfo");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " nr_free_pages %lu", &n) == 1 ||
		    sscanf(line, " count: %lu", &n) == 1)
			pages += n;
	}
	fclose(f);
	return pages * PAGE;
}

/* What this process has mapped of memory that is there. */
static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	char text[64];

	if (get_file("/proc/self/statm", text, sizeof(text)) ||
	    sscanf(text, "%*u %lu", &pages) != 1)
		bail_out("/proc/self/statm");
	return pages * PAGE;
}

/* The isolation ends while a sibling unmaps memory: is that free afterwards? */
static bool all_is_freed(void)
{
	struct worker *w = reader(0);
	char *p = map_watched(BIG, 1);
	uint64_t before = free_bytes(), resident = resident_bytes();
	pthread_t sibling;
	bool freed;

	begun = false;
	if (pthread_create(&sibling, NULL, unmaps, p))
		bail_out("pthread_create");
	until(begun);
	/* More than half goes before anything is listed: there a planted fault stays long. */
	until(resident_bytes() < resident - BIG / 2);
	do {
		resident = resident_bytes();
		sleep_ms(50);	/* sleep: between two looks */
	} while (resident_bytes() < resident);
	worker_end(w);
	pthread_join(sibling, NULL);
	/*
	 * Nothing is unmapped from here on, which would free what waits: what was listed in one go,
	 * more than half.  Stacks have taken up to a quarter.
	 */
	freed = comes(free_bytes() > before + BIG / 8 * 5, 5000);
	diag("%lu MiB were free, %lu MiB are", before >> 20, free_bytes() >> 20);
	return freed;
}

int main(void)
{
	iso_require(2);
	return with_fault("list_late", all_is_freed);
}
