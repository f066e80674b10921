// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: asid-rollover
 * row: 24
 * class: quiesce
 * kind: program
 * arch: arm64
 * needs: numbers of address spaces that all CPUs share, and that run out
 * notick: no
 * timeout: 120
 * about: a storm of forks uses up the numbers of address spaces, and every CPU gets new ones
 */
#include "trigger.h"

/*
 * There are 2^16 at most, and half as many with page tables of user mode's own.  More processes
 * than numbers have run: some have numbers that others had before.
 */
enum { NUMBERS = 1 << 15, PROCESSES = NUMBERS + 1000, AT_ONCE = 50 };

int main(void)
{
	int ran = 0, status;

	for (int left = PROCESSES; left > 0; left -= AT_ONCE) {
		for (int i = 0; i < AT_ONCE; i++) {
			pid_t pid = fork();

			need(pid >= 0);
			if (!pid)
				_exit(0);
		}
		for (int i = 0; i < AT_ONCE; i++)
			ran += wait(&status) > 0 && WIFEXITED(status);
	}
	answer(ran >= PROCESSES, "done", "%d processes, each with an address space of its own", ran);
}
