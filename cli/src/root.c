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

bool root_trusted(const char *root)
{
	struct stat status;

	/* What cannot be looked at is refused, with its reason, where it is opened. */
	if (root_live(root) || stat(root, &status))
		return true;
	return (!status.st_uid || status.st_uid == geteuid()) && !(status.st_mode & S_IWOTH);
}

int root_refuse(const char *root)
{
	error_say("%s: nothing is changed below a directory that belongs to another user, or that everybody may write: do it as its owner, or with a copy of your own (cp -r)",
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
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
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
