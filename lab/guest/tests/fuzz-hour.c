// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: fuzz-hour
 * cpus: 4
 * kernel: isolator-debug
 * timeout: 4500
 * about: an hour of fuzz, on the kernels with every check
 * alone: yes
 * coverage: yes
 * long: hour
 */
#include "fuzz.h"

int main(void)
{
	return fuzz(3600);
}
