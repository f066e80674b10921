/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The NUMA system calls, for triggers that move pages between nodes 0 and 1. */
#ifndef LAB_NUMA_H
#define LAB_NUMA_H

#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NUMA_PAGES = 32, NUMA_PAGE = 4096 };

/* Is there a second node?  The boot parameter numa=fake=2 makes one. */
static inline bool numa_two_nodes(void)
{
	return !access("/sys/devices/system/node/node1", F_OK);
}

/* Memory of NUMA_PAGES pages, each with its number in it; NULL: none. */
static inline char *numa_memory(void)
{
	char *p = mmap(NULL, NUMA_PAGES * NUMA_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	for (int i = 0; i < NUMA_PAGES; i++)
		p[i * NUMA_PAGE] = (char)i;
	return p;
}

/* Moves the pages to a node, or asks (-1) where they are, into where[]. */
static inline long numa_move(char *memory, int node, int *where)
{
	void *pages[NUMA_PAGES];
	int nodes[NUMA_PAGES];

	for (int i = 0; i < NUMA_PAGES; i++) {
		pages[i] = memory + i * NUMA_PAGE;
		nodes[i] = node;
	}
	return syscall(SYS_move_pages, 0, (long)NUMA_PAGES, pages,
		       node < 0 ? NULL : nodes, where, MPOL_MF_MOVE);
}

/* How many of the pages are on this node, with what was written into them. */
static inline int numa_on_node(char *memory, int node)
{
	int where[NUMA_PAGES], n = 0;

	if (numa_move(memory, -1, where))
		return -1;
	for (int i = 0; i < NUMA_PAGES; i++)
		n += where[i] == node && memory[i * NUMA_PAGE] == (char)i;
	return n;
}

#endif
