// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fuzz
 * cpus: 4
 * kernel: isolator
 * timeout: 200
 * once: yes
 * alone: yes
 * coverage: yes
 * about: hostile requests beside everything that ends an isolation leave nothing behind
 */
#include "fuzz.h"

int main(void)
{
	return fuzz(5);
}
