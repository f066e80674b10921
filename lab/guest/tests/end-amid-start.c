// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: end-amid-start
 * cpus: 4
 * kernel: isolator
 * timeout: 120
 * about: 40 starts are ended by a cpuset amid: no other CPU's watchdog or timers are touched
 */
#include "end-amid-start.h"

int main(void)
{
	return end_amid_starts(40);
}
