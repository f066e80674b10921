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
#include <sys/sysinfo.h>
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

static uint64_t free_bytes(void)
{
	struct sysinfo info;

	sysinfo(&info);
	return (uint64_t)info.freeram * info.mem_unit;
}

/* The isolation ends while a sibling unmaps memory: is that free afterwards? */
static bool all_is_freed(void)
{
	struct worker *w = reader(0);
	char *p = map_watched(BIG, 1);
	uint64_t before = free_bytes();
	pthread_t sibling;
	bool freed;

	begun = false;
	if (pthread_create(&sibling, NULL, unmaps, p))
		bail_out("pthread_create");
	until(begun);
	/* It is in munmap(): a planted fault stays there long. */
	sleep_ms(200);	/* sleep: whoever unmaps tells nobody how far it is */
	worker_end(w);
	pthread_join(sibling, NULL);
	/* Nothing is unmapped from here on, which would free what waits: what was listed in one go. */
	freed = comes(free_bytes() > before + BIG / 8 * 7, 5000);
	diag("%lu MiB were free, %lu MiB are", before >> 20, free_bytes() >> 20);
	return freed;
}

int main(void)
{
	iso_require(2);
	return with_fault("list_late", all_is_freed);
}
