// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quarantine-reuse-long
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 3600
 * long: hour
 * alone: yes
 * about: 100000 rounds of it: nobody reads another mapping's data where what is unmapped waits
 */
#include "quarantine-reuse.h"

int main(void)
{
	return quarantine_reuse(100000);
}
