// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: migrate-pages
 * row: 29
 * class: quiesce
 * kind: program
 * notick: no
 * append: numa=fake=2
 * about: a process has all its memory moved to the other memory node and back
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
			unsigned long to = 1UL << node, from = 3 & ~to;

			need(syscall(SYS_migrate_pages, 0, 8 * sizeof(to), &from, &to) >= 0);
			moved += numa_on_node(memory, node) == NUMA_PAGES;
		}
	answer(moved == 2 * ROUNDS, "done", "%d of %d moves of %d pages", moved,
	       2 * ROUNDS, NUMA_PAGES);
}
