// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/root.h"
#include "base/setting.h"
#include "base/text.h"

static int change(const char *root, const char *path, bool make)
{
	const char *name;
	int fd = root_open_parent(root, path, O_PATH, &name), error = 0;

	if (fd < 0 || (make ? mkdirat(fd, name, 0755) : unlinkat(fd, name, AT_REMOVEDIR)))
		error = errno;
	if (fd >= 0)
		close(fd);
	return error;
}

int directory_make(const char *root, const char *path)
{
	return change(root, path, true);
}

int directory_remove(const char *root, const char *path)
{
	return change(root, path, false);
}

void directory_file(const char *root, const char *path, const char *text)
{
	const char *name;
	int directory = root_open_parent(root, path, O_PATH, &name), fd;

	if (directory < 0)
		return;
	if (text) {
		fd = openat(directory, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY,
			    0644);
		if (fd >= 0)
			close(fd);
		setting_write_text(root, path, text);
	} else {
		unlinkat(directory, name, 0);
	}
	close(directory);
}
