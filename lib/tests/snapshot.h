/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A snapshot of a machine made of files, and what tests ask of it. */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include <isolator.h>

#include "check.h"
#include "tree.h"

#define ROWS	64

/* Of the machine in use. */
static const char *root;
static struct isolator_topology *topology;

static inline void before(void)
{
	isolator_topology_free(topology);
	topology = NULL;
	root = tree_new();
}

static inline int read_tree(void)
{
	struct isolator_topology_options options = ISOLATOR_TOPOLOGY_OPTIONS_INIT;

	isolator_topology_free(topology);
	topology = NULL;
	options.root = root;
	return isolator_topology_read(&options, &topology);
}

static inline struct isolator_cpu info(int cpu)
{
	struct isolator_cpu result = ISOLATOR_CPU_INIT;

	CHECK_EQUAL(isolator_topology_cpu(topology, cpu, &result), 0);
	return result;
}

static inline void check_list(unsigned int flags, const char *want)
{
	char text[256];

	CHECK_EQUAL(isolator_topology_list(topology, flags, text, sizeof(text)), strlen(want));
	if (strcmp(text, want) != 0) {
		printf("# %#x: %s, not %s\n", flags, text, want);
		CHECK(!"list");
	}
}

static struct isolator_candidate rows[ROWS];
static size_t row_count;

static inline int rank(void)
{
	int can = isolator_topology_best(topology, rows, ROWS, &row_count);

	for (size_t i = 0; i < row_count; i++)
		printf("# CPU %d: %d, %#x: %s\n", rows[i].cpu, rows[i].score, rows[i].why,
		       rows[i].text);
	return can;
}

/* The row of a CPU in the ranking. */
static inline const struct isolator_candidate *row(int cpu)
{
	static const struct isolator_candidate none = { .cpu = -1, .text = "" };

	for (size_t i = 0; i < row_count; i++)
		if (rows[i].cpu == cpu)
			return &rows[i];
	return &none;
}

#endif
