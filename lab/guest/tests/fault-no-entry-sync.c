// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fault-no-entry-sync
 * cpus: 2
 * kernel: isolator-faults
 * arch: arm64
 * timeout: 30
 * append: nohz_full=1
 * about: planted fault: kernel entry does not synchronise; what entry-sync counts is none then
 * observe: 1 syscalls 1000
 * observe: 2 syscalls 1000
 * observe: 3 syscalls 1000
 * observe: 4 syscalls 1000
 * observe: 5 syscalls 1000
 * observe: 6 syscalls 1000
 * observe: 7 syscalls 1000
 * observe: 8 syscalls 1000
 * observe: 9 syscalls 1000
 * more: 1,2,3 4,5,6 sync 1000
 * more: 1,2,3 7,8,9 sync 0
 */
#include "entry-sync.h"

int main(void)
{
	return compare("no_entry_sync");
}
