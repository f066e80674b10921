// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "file.h"
#include "root.h"

bool root_live(const char *root)
{
	return !strcmp(root, "/");
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
