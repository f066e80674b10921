// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "error.h"
#include "file.h"
#include "root.h"

bool root_live(const char *root)
{
	return !strcmp(root, "/");
}

/* The directory that root_trusted() has looked at last. */
static struct {
	const char *root;	/* NULL: none */
	int top;		/* -1: it could not be opened: */
	int error;
} looked_at = { .top = -1 };

/* As open(2). */
static int open_top(const char *root)
{
	if (!looked_at.root || strcmp(looked_at.root, root))
		return open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (looked_at.top >= 0)
		return fcntl(looked_at.top, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	errno = looked_at.error;
	return -1;
}

/* May somebody else make, and remove, what is in it? */
static bool is_strangers(const struct stat *status)
{
	/* Not the group of one's own, in which many users are alone; root's is for root only. */
	bool own_group = !status->st_gid || (geteuid() && status->st_gid == getegid());

	return (status->st_uid && status->st_uid != geteuid()) || status->st_mode & S_IWOTH ||
		(status->st_mode & S_IWGRP && !own_group);
}

bool root_trusted(const char *root)
{
	struct stat status;
	int top;

	if (root_live(root))
		return true;
	top = open_top(root);
	if (looked_at.top >= 0)
		close(looked_at.top);
	looked_at.root = root;
	looked_at.top = top;
	looked_at.error = errno;
	/* What cannot be looked at is refused, with its reason, where it is opened. */
	return top < 0 || fstat(top, &status) || !is_strangers(&status);
}

int root_refuse(const char *root)
{
	error_say("%s: nothing is changed below a directory that belongs to another user, or that others may write: do it as its owner, or with a copy of your own (cp -r)",
		  root);
	return -1;
}

int root_open(const char *root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int top, fd, error;

	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	if (root_live(root))
		return open(path, (int)how.flags);
	top = open_top(root);
	if (top < 0)
		return -1;
	fd = (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
	error = errno;
	close(top);
	errno = error;
	return fd;
}

char *root_read(const char *root, const char *path, size_t *size)
{
	return file_read_close(root_open(root, path, O_RDONLY), size);
}
