/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A cgroup of version 2 that is a cpuset partition: its CPUs are taken away from all
 * tasks outside.  It is made at the top, where no service manager looks after it.
 */
#ifndef GROUP_H
#define GROUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cpulist.h"

struct journal;

#define GROUP_TOP "/sys/fs/cgroup"

struct group {
	const char *root;
	char *path;	/* NULL: there is none */
	char *state;	/* what the kernel calls the partition, or why there is none */
	bool isolated;	/* the partition is in force */
	char *left;	/* limits above the cgroup that it does not have, in words; NULL: none */
};

/*
 * Why there cannot be one: an errno, and *@path, not to be freed, tells of which file;
 * ENOENT: no cpuset of version 2 is mounted there.  0: there can.
 */
int group_possible(const char *root, const char **path);

/*
 * Makes one, named after @pid, whose CPUs are @cpus, each step noted; whether it is in
 * force says @group.  0; -1, said why: the journal cannot be written.
 */
int group_make(struct group *group, const char *root, pid_t pid, const struct cpulist *cpus,
	       struct journal *journal);

/* Moves the process into it; 0 or the errno. */
int group_enter(const struct group *group, pid_t pid);

void group_free(struct group *group);

/*
 * Turns cpuset off in the cgroups at the top, which was done for groups of this command;
 * @before is what stood there.  It stays where it was on before, or one of them has CPUs
 * of its own by now, as systemd gives them.  0 or the errno.
 */
int group_disable(const char *root, const char *before);

/*
 * Moves what runs in the cgroup @path to @origin, or to the top if that is gone, and
 * removes it: 0 or the errno; not there is no error.  *@moved counts the processes.  A program
 * that forks too fast for that stands still meanwhile, 0.1 s at a time.
 */
int group_remove(const char *root, const char *path, const char *origin, unsigned int *moved);

#endif
