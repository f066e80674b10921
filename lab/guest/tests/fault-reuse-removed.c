// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-reuse-removed
 * cpus: 2
 * kernel: isolator-faults
 * arch: x86_64
 * timeout: 120
 * alone: yes
 * about: planted fault: addresses are used again before the isolated CPU has flushed
 */
#include "fault.h"
#include "quarantine-reuse.h"

int main(void)
{
	iso_require(2);
	return with_fault("reuse_removed", quarantine_holds);
}
