// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-reuse-removed
 * cpus: 2
 * kernel: isolator-faults
 * timeout: 120
 * alone: yes
 * about: planted fault: addresses are used again before the isolated CPU has flushed
 */
#include "fault.h"
#include "quarantine-reuse.h"

/* The task does nothing but read what was there: the other's data are seen at once. */
static bool check(void)
{
	watched.foreign = 0;
	watched.stale = 0;
	return quarantine_rounds(60);
}

int main(void)
{
	iso_require(2);
	return with_fault("reuse_removed", check);
}
