// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attribute/tracefs_file.h"
#include "base/file.h"

int tracefs_write(int directory, const char *path, const char *text)
{
	int file = openat(directory, path, O_WRONLY | O_CLOEXEC), error;

	if (file < 0)
		return errno;
	error = file_write_fd(file, text, strlen(text));
	close(file);
	return error;
}

int tracefs_write_number(int directory, const char *path, size_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%zu", number);
	return tracefs_write(directory, path, text);
}

char *tracefs_read(int directory, const char *path)
{
	size_t size;

	return file_read_close(openat(directory, path, O_RDONLY | O_CLOEXEC), &size);
}
