// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: entry-sync
 * cpus: 2
 * kernel: isolator
 * arch: arm64
 * timeout: 30
 * append: nohz_full=1
 * about: each system call of an isolated CPU synchronises text, one of a nohz_full CPU does not
 * observe: 1 syscalls 1000
 * observe: 2 syscalls 1000
 * observe: 3 syscalls 1000
 * observe: 4 any 1000
 * observe: 4 syscalls 1000
 * observe: 5 syscalls 1000
 * observe: 6 syscalls 1000
 * more: 1,2,3 4,5,6 sync 1000
 * ways: 4
 */
#include "entry-sync.h"

int main(void)
{
	return compare(NULL);
}
