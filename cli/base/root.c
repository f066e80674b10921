// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/array.h"
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

/* What root_graft() was told. */
static struct {
	const char *path;	/* NULL: nothing */
	int fd;
} graft;

void root_graft(const char *path, int fd)
{
	graft.path = path;
	graft.fd = fd;
}

/* As open(2). */
static int open_live(const char *path, int flags)
{
	size_t length = graft.path ? strlen(graft.path) : 0;

	if (!length || strncmp(path, graft.path, length) || (path[length] && path[length] != '/'))
		return open(path, flags);
	path += length;
	path += strspn(path, "/");
	return openat(graft.fd, *path ? path : ".", flags);
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
		return open_live(path, (int)how.flags);
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

/* As @old is, so that nobody may do more with it than before: 0 or the errno. */
static int inherit(int fd, const struct stat *old)
{
	struct stat new;

	if (fstat(fd, &new))
		return errno;
	if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid))
		return errno;
	return fchmod(fd, old->st_mode & 07777) ? errno : 0;
}

/*
 * Can @path be replaced?  Returns 0, with *@status as the file is, or as a new one will be, or
 * the errno.
 */
static int look_at(const char *root, const char *path, mode_t mode, struct stat *status)
{
	/* Whoever may not write it may not replace it. */
	int fd = root_open(root, path, O_WRONLY | O_NOFOLLOW), error = 0;

	if (fd < 0 && errno == ENOENT && mode) {
		*status = (struct stat){ .st_mode = mode, .st_uid = geteuid(),
					 .st_gid = getegid() };
		return 0;
	}
	if (fd < 0)
		return errno;
	if (fstat(fd, status))
		error = errno;
	else if (!S_ISREG(status->st_mode))
		error = EINVAL;
	close(fd);
	return error;
}

/* @text as a file @name of @directory's, on the disk if @sync: 0 or the errno. */
static int make(int directory, const char *name, const char *text, const struct stat *status,
		bool sync)
{
	int fd, error;

	/* Of one who was killed. */
	unlinkat(directory, name, 0);
	fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	error = inherit(fd, status);
	if (!error)
		error = file_write_fd(fd, text, strlen(text));
	if (!error && sync && fsync(fd))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	return error;
}

int root_replace(const char *root, const char *path, const char *beside, mode_t mode,
		 const char *text)
{
	const char *name, *new;
	struct stat status;
	int error = look_at(root, path, mode, &status), parent, own;

	if (error)
		return error;
	parent = root_open_parent(root, path, O_PATH, &name);
	own = parent < 0 ? -1 : root_open_parent(root, beside, O_PATH, &new);
	error = own < 0 ? errno : make(own, new, text, &status, mode);
	if (!error && renameat(own, new, parent, name))
		error = errno;
	if (error && own >= 0)
		unlinkat(own, new, 0);
	if (own >= 0)
		close(own);
	if (parent >= 0)
		close(parent);
	return error;
}

int root_remove(const char *root, const char *path, const char *beside)
{
	const char *const paths[] = { beside, path };
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *name;
		int parent = root_open_parent(root, paths[i], O_PATH, &name);

		error = parent < 0 || unlinkat(parent, name, 0) ? errno : 0;
		if (parent >= 0)
			close(parent);
	}
	return error == ENOENT ? 0 : error;
}
