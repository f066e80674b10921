// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"

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

int root_open_parent(const char *root, const char *path, int flags, const char **name)
{
	char *directory;
	int fd, error;

	*name = strrchr(path, '/') + 1;
	directory = text_format("%.*s", (int)(*name - path), path);
	fd = root_open(root, directory, flags | O_DIRECTORY);
	error = errno;
	free(directory);
	errno = error;
	return fd;
}

char *root_read(const char *root, const char *path, size_t *size)
{
	return file_read_close(root_open(root, path, O_RDONLY), size);
}

/* Of @old, so that nobody may do more with it than before. */
static bool inherit(int fd, const struct stat *old)
{
	struct stat new;

	return !fstat(fd, &new) &&
		((new.st_uid == old->st_uid && new.st_gid == old->st_gid) ||
		 !fchown(fd, old->st_uid, old->st_gid)) &&
		!fchmod(fd, old->st_mode & 07777);
}

/* @text as a file of @own's that takes the place of @name in @parent. */
static bool exchange(int own, int parent, const char *name, const char *text,
		     const struct stat *old)
{
	char *beside = text_format(ROOT_NEW "%d", (int)getpid());
	bool good = false;
	int fd;

	/* Of one who was killed and had this number. */
	unlinkat(own, beside, 0);
	fd = openat(own, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		good = inherit(fd, old) && !file_write_fd(fd, text, strlen(text));
		good = !close(fd) && good && !renameat(own, beside, parent, name);
		if (!good)
			unlinkat(own, beside, 0);
	}
	free(beside);
	return good;
}

bool root_replace(const char *root, const char *path, const char *text)
{
	const char *name;
	/* Whoever may not write it may not replace it. */
	int old = root_open(root, path, O_WRONLY | O_NOFOLLOW);
	int own = root_open(root, ROOT_OWN, O_PATH | O_DIRECTORY);
	int parent = root_open_parent(root, path, O_PATH, &name);
	struct stat status;
	bool good = old >= 0 && own >= 0 && parent >= 0 && !fstat(old, &status) &&
		S_ISREG(status.st_mode) && exchange(own, parent, name, text, &status);

	if (parent >= 0)
		close(parent);
	if (own >= 0)
		close(own);
	if (old >= 0)
		close(old);
	return good;
}
