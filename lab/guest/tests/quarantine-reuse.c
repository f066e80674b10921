// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: quarantine-reuse
 * cpus: 2
 * kernel: isolator
 * arch: x86_64
 * timeout: 120
 * once: yes
 * alone: yes
 * about: nobody reads another mapping's data where what is unmapped waits
 */
#include "quarantine-reuse.h"

int main(void)
{
	return quarantine_reuse(2000);
}
