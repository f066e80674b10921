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

/* Each of @files comes, or goes. */
static void stand_in(const char *root, const char *path, const struct directory_file *files,
		     bool make)
{
	for (; !root_live(root) && files && files->name; files++) {
		char *file = text_format("%s/%s", path, files->name);
		const char *name;
		int directory = root_open_parent(root, file, O_PATH, &name), fd = -1;

		if (directory >= 0 && make)
			fd = openat(directory, name,
				    O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0644);
		else if (directory >= 0)
			unlinkat(directory, name, 0);
		if (fd >= 0)
			close(fd);
		if (directory >= 0)
			close(directory);
		if (make)
			setting_write_text(root, file, files->text);
		free(file);
	}
}

int directory_make(const char *root, const char *path, const struct directory_file *files)
{
	int error = change(root, path, true);

	if (!error)
		stand_in(root, path, files, true);
	return error;
}

int directory_remove(const char *root, const char *path, const struct directory_file *files)
{
	stand_in(root, path, files, false);
	return change(root, path, false);
}
