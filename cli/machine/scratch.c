// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "machine/scratch.h"

#define NAME "isolator-scratch."
#define TRIES 16
#define DEPTH 16	/* directories that are open at a time while it is removed */

static const char *scratch_place(void)
{
	const char *place = getenv("TMPDIR");

	return place && *place == '/' ? place : "/tmp";
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status;
	(void)ftw;
	/* What cannot be removed stays; the rest goes. */
	if (type == FTW_DP || type == FTW_DNR)
		rmdir(path);
	else
		unlink(path);
	return 0;
}

static void remove_all(const char *path)
{
	nftw(path, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Opens and locks it, if it is this user's and nobody else has; -1: not so. */
static int lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	/* Anybody may have put something there by such a name. */
	if (fd >= 0 && !fstat(fd, &status) && status.st_uid == geteuid() &&
	    !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &status) && status.st_nlink)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* What the killed have left. */
static void sweep(const char *place)
{
	DIR *names = opendir(place);
	struct dirent *entry;

	while (names && (entry = readdir(names))) {
		char *path;
		int fd;

		if (strncmp(entry->d_name, NAME, strlen(NAME)))
			continue;
		path = text_format("%s/%s", place, entry->d_name);
		fd = lock(path);
		if (fd >= 0) {
			remove_all(path);
			close(fd);
		}
		free(path);
	}
	if (names)
		closedir(names);
}

char *scratch_make(char **path)
{
	const char *place = scratch_place();
	char *why;

	sweep(place);
	/* Between being made and being locked, another one may sweep it away. */
	for (int i = 0; i < TRIES; i++) {
		*path = text_format("%s/" NAME "XXXXXX", place);
		/* It stays open, and locked, until the process ends. */
		if (mkdtemp(*path) && lock(*path) >= 0)
			return NULL;
		why = strerror(errno);
		free(*path);
	}
	*path = NULL;
	return text_format("no directory for files in %s: %s: TMPDIR may name another place",
			   place, why);
}

void scratch_remove(char *path)
{
	remove_all(path);
	free(path);
}
