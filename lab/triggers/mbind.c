// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: mbind
 * row: 29
 * class: quiesce
 * kind: program
 * notick: no
 * append: numa=fake=2
 * about: a process binds its memory to the other memory node and back, and its pages follow
 */
#include "numa.h"
#include "trigger.h"

enum { ROUNDS = 3 };

int main(void)
{
	char *memory = numa_memory();
	int moved = 0;

	if (!numa_two_nodes())
		answer(false, "done", "missing: a second memory node");
	need(memory);
	for (int i = 0; i < ROUNDS; i++)
		for (int node = 1; node >= 0; node--) {
			unsigned long mask = 1UL << node;

			need(!syscall(SYS_mbind, memory, (long)NUMA_PAGES * NUMA_PAGE, MPOL_BIND,
				      &mask, 8 * sizeof(mask), MPOL_MF_MOVE | MPOL_MF_STRICT));
			moved += numa_on_node(memory, node) == NUMA_PAGES;
		}
	answer(moved == 2 * ROUNDS, "done", "%d of %d moves of %d pages", moved,
	       2 * ROUNDS, NUMA_PAGES);
}
