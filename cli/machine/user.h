/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another user, as whom a program is to run, and what this one may do. */
#ifndef USER_H
#define USER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct user {
	bool given;	/* false: the program runs as whoever this process is */
	uid_t uid;
	gid_t gid;
	gid_t *groups;
	size_t nr_groups;
	char *name;	/* NULL, as the next two: it stands in no file */
	char *home;
	char *shell;
};

/*
 * The user @name, a name or a number; if it is NULL, who has called sudo(8), if this
 * process is root's.  Read from /etc/passwd and /etc/group: libraries that ask a
 * directory service cannot be part of a static program.  0; -1, said why.
 */
int user_find(struct user *user, const char *name);

/* Becomes the user for good; 0 or the errno. */
int user_become(const struct user *user);

void user_free(struct user *user);

/* Has this process the right @capability (capabilities(7))?  Also where nothing says so. */
bool user_may(int capability);

#endif
