// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "journal/store.h"

int store_fail(const char *root, const char *place, const char *name, const char *why)
{
	error_say("the journal of settings, %s%s/%s: %s", root_live(root) ? "" : root, place,
		  name, why);
	return -1;
}

/* A directory of its own, which only root may look into; -1 with errno. */
static int open_directory(const char *root, const char *place, bool make)
{
	const char *name;
	int above, fd = -1, error = 0;

	/* Those above it are everybody's. */
	for (const char *at = place; make && (at = strchr(at + 1, '/'));) {
		char *path = text_format("%.*s", (int)(at - place), place);

		error = directory_make(root, path, NULL);
		free(path);
		if (error && error != EEXIST) {
			errno = error;
			return -1;
		}
	}
	above = root_open_parent(root, place, O_PATH, &name);
	if (above < 0)
		return -1;
	if (!make || !mkdirat(above, name, 0700) || errno == EEXIST)
		fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = errno;
	close(above);
	errno = error;
	return fd;
}

const char *store_lock_error(int error)
{
	return error == EWOULDBLOCK ?
		"another isolator command is changing settings: try again when it has ended" :
		"it cannot be locked, so nothing was changed: does the kernel have CONFIG_FILE_LOCKING, and this file system locks?";
}

int store_refuse(const char *root, const char *place, const char *name, int error, bool change)
{
	const char *help = error == EACCES || error == EPERM ? error_denied() :
		error == EROFS ? "mount it writable" : "";

	error_say("cannot %s the journal of settings, %s%s/%s: %s%s%s%s", change ? "write" : "read",
		  root_live(root) ? "" : root, place, name, strerror(error),
		  change ? "; nothing was changed" : "", *help ? ": " : "", help);
	return -1;
}

bool store_readable(const char *root)
{
	int fd = open_directory(root, STORE_PATH, false);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int store_lock(const char *root, const char *place, bool make, bool wait)
{
	struct stat status = { 0 };
	int fd;

	if (!root_trusted(root))
		return root_refuse(root);
	for (;;) {
		fd = open_directory(root, place, make);
		if (fd < 0 && errno == ENOENT && !make)
			return -2;
		if (fd < 0)
			return store_refuse(root, place, "", errno, make);
		if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB))) {
			const char *why = store_lock_error(errno);

			close(fd);
			return store_fail(root, place, "", why);
		}
		/* Who held the lock may have removed it meanwhile. */
		if (!fstat(fd, &status) && status.st_nlink)
			return fd;
		close(fd);
	}
}

static int newest_first(const void *a, const void *b)
{
	const struct store_entry *x = a, *y = b;

	/* "shield" comes before "journal". */
	if (x->order == y->order)
		return strcmp(y->name, x->name);
	return x->order < y->order ? 1 : -1;
}

/* The order of the journal @name; -1: it is none. */
static long order_of(const char *name)
{
	size_t length = strlen(STORE_RUN);
	char *end;
	long order;

	if (!strcmp(name, STORE_FIX) || !strcmp(name, STORE_SHIELD) || !strcmp(name, STORE_BOOT))
		return 0;
	if (strncmp(name, STORE_RUN, length) || !isdigit((unsigned char)name[length]))
		return -1;
	order = strtol(name + length, &end, 10);
	return *end || order < 1 || order > INT_MAX ? -1 : order;
}

struct store_entry *store_list(int directory, size_t *count)
{
	struct store_entry *entries = NULL;
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	*count = 0;
	while (names && (entry = readdir(names))) {
		long order = order_of(entry->d_name);

		/* Whoever changes settings has locked it; another one writes in place. */
		if (!strncmp(entry->d_name, ROOT_NEW, strlen(ROOT_NEW)))
			unlinkat(directory, entry->d_name, 0);
		if (order >= 0)
			*ARRAY_ADD(entries, *count) = (struct store_entry){
				text_format("%s", entry->d_name), (unsigned int)order };
	}
	if (names)
		closedir(names);
	if (*count)
		qsort(entries, *count, sizeof(*entries), newest_first);
	return entries;
}

void store_free(struct store_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(entries[i].name);
	free(entries);
}

int store_open(int directory, const char *name, bool *alive)
{
	int fd = openat(directory, name, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return -1;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	*alive = flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

int store_replace(int directory, const char *name, const char *text, size_t size, int *fd)
{
	char *new_name = text_format(ROOT_NEW "%s", name);
	int error;

	unlinkat(directory, new_name, 0);
	*fd = openat(directory, new_name,
		     O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	error = *fd < 0 || flock(*fd, LOCK_EX | LOCK_NB) ? errno : file_write_fd(*fd, text, size);
	if (!error && (fsync(*fd) || renameat(directory, new_name, directory, name)))
		error = errno;
	if (error) {
		unlinkat(directory, new_name, 0);
		if (*fd >= 0)
			close(*fd);
	}
	free(new_name);
	return error;
}

void store_close(const char *root, const char *place, int directory)
{
	directory_remove(root, place, NULL);
	close(directory);
}
