// SPDX-License-Identifier: LGPL-2.1-or-later
/* CPUs in isolated partitions of cpusets, as the kernel lists them or one by one. */
#define _GNU_SOURCE
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "topology.h"

/* Deeper than any hierarchy that people make. */
#define DEPTH_MAX	16

/* Whether @directory is of version 2 and has the cpuset controller. */
static bool has_cpusets(const char *root, const char *directory)
{
	char text[512], *rest = text;

	if (!isolator_file_text(root, text, sizeof(text), "%s/cgroup.controllers", directory))
		return false;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		if (strcmp(word, "cpuset") == 0)
			return true;
	return false;
}

/* Adds what @directory and those below it keep; false if one cannot be read. */
static bool walk(const char *root, const char *directory, int depth, struct cpus *cpus)
{
	char name[PATH_MAX], text[64];
	struct dirent *entry;
	struct cpus here;
	bool whole = true;
	DIR *list;

	/* One that the kernel could not make so is called "isolated invalid". */
	if (isolator_file_text(root, text, sizeof(text), "%s/cpuset.cpus.partition",
			       directory) && strcmp(text, "isolated") == 0) {
		if (isolator_file_cpus(root, &here, "%s/cpuset.cpus.effective", directory) <= 0)
			whole = false;
		for (size_t i = 0; i < CPUS_MAX / 64; i++)
			cpus->words[i] |= here.words[i];
	}
	snprintf(name, sizeof(name), "%s/%s", root, directory);
	list = depth < DEPTH_MAX ? opendir(name) : NULL;
	if (!list)
		return false;
	while ((entry = readdir(list)) != NULL) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		if ((size_t)snprintf(name, sizeof(name), "%s/%s", directory,
				     entry->d_name) >= sizeof(name))
			whole = false;
		else
			whole &= walk(root, name, depth + 1, cpus);
	}
	closedir(list);
	return whole;
}

bool isolator_cgroup_partitions(const char *root, struct cpus *cpus)
{
	/* Version 2 alone, or beside version 1. */
	static const char *const directories[] = { "sys/fs/cgroup", "sys/fs/cgroup/unified" };

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		int read = isolator_file_cpus(root, cpus, "%s/cpuset.cpus.isolated",
					      directories[i]);

		if (read)
			return read > 0;
	}
	/* Kernels before 6.7, and cgroup namespaces, do not have that file. */
	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
		if (has_cpusets(root, directories[i]))
			return walk(root, directories[i], 0, cpus);
	return false;
}
