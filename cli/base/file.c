// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#define FIRST_ROOM 65536
#define LAST_ROOM (1 << 28)

char *file_read_fd(int fd, size_t *size)
{
	size_t room = FIRST_ROOM;
	char *text = malloc(room);
	int error = ENOMEM;

	*size = 0;
	while (text) {
		ssize_t n = read(fd, text + *size, room - *size - 1);
		char *more;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			text[*size] = '\0';
			if (!n)
				return text;
			error = errno;
			break;
		}
		*size += (size_t)n;
		if (*size + 1 < room)
			continue;
		room *= 2;
		error = EFBIG;
		if (room > LAST_ROOM)
			break;
		error = ENOMEM;
		more = realloc(text, room);
		if (!more)
			break;
		text = more;
	}
	free(text);
	errno = error;
	return NULL;
}

char *file_read_close(int fd, size_t *size)
{
	char *text;
	int error;

	if (fd < 0)
		return NULL;
	text = file_read_fd(fd, size);
	error = errno;
	close(fd);
	errno = error;
	return text;
}

char *file_read(const char *path, size_t *size)
{
	return file_read_close(open(path, O_RDONLY | O_CLOEXEC), size);
}

bool file_word(char *text, size_t size, const char *path, ...)
{
	va_list arguments;
	char *name, *whole;
	size_t length;

	va_start(arguments, path);
	name = text_formatv(path, arguments);
	va_end(arguments);
	whole = file_read(name, &length);
	free(name);
	if (!whole)
		return false;
	snprintf(text, size, "%.*s", (int)strcspn(whole, "\n"), whole);
	free(whole);
	return true;
}

bool file_is_whole(const char *text, size_t size)
{
	return strlen(text) == size && (!size || text[size - 1] == '\n');
}

int file_write_fd(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		/* A file of the kernel's may take nothing, and say so by 0. */
		if (!n)
			return EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int file_check_ordinary(const char *option, const char *path)
{
	struct stat status;

	if (lstat(path, &status) || S_ISREG(status.st_mode))
		return 0;
	error_say("%s: %s is not an ordinary file, and would be replaced by one: name another file",
		  option, path);
	return -1;
}

int file_begin(struct file_new *new, const char *path, mode_t mode)
{
	int error;

	*new = (struct file_new){ path, text_format("%s.new", path), -1 };
	/* Made here: what somebody else left may be a pipe that nobody reads, or a link. */
	unlink(new->beside);
	new->fd = open(new->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (new->fd >= 0)
		return 0;
	error = errno;
	free(new->beside);
	new->beside = NULL;
	return error;
}

int file_end(struct file_new *new, const void *data, size_t size)
{
	int error = file_write_fd(new->fd, data, size);

	if (close(new->fd) && !error)
		error = errno;
	new->fd = -1;
	if (!error && rename(new->beside, new->path))
		error = errno;
	if (error)
		unlink(new->beside);
	free(new->beside);
	new->beside = NULL;
	return error;
}

void file_drop(struct file_new *new)
{
	if (!new->beside)
		return;
	close(new->fd);
	unlink(new->beside);
	free(new->beside);
	new->beside = NULL;
}

int file_replace(const char *path, const void *data, size_t size)
{
	struct file_new new;
	int error = file_begin(&new, path, 0666);

	return error ? error : file_end(&new, data, size);
}
