// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/boot_notes.h"
#include "base/file.h"
#include "base/root.h"
#include "base/text.h"
#include "journal/line.h"

#define BESIDE ".isolator-new"

/* Closes @fd; the errno of what was done there, or of putting it on the disk. */
static int close_synced(int fd, int error)
{
	if (!error && fsync(fd))
		error = errno;
	close(fd);
	return error;
}

/* @fd becomes the file's whose status is @old: 0 or the errno. */
static int inherit(int fd, const struct stat *old)
{
	struct stat new;

	if (fstat(fd, &new))
		return errno;
	/* The owner first: nobody gets what another may do. */
	if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
	    fchown(fd, old->st_uid, old->st_gid))
		return errno;
	/* A file system without permissions has none to be kept. */
	fchmod(fd, old->st_mode & 0777);
	return 0;
}

int boot_replace(const char *root, const char *path, const char *text)
{
	const char *name;
	int directory = root_open_parent(root, path, O_RDONLY, &name), fd, error = 0;
	struct stat status;
	bool there;
	char *beside;

	if (directory < 0)
		return errno;
	there = !fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW);
	/* Whoever made the link wants the file elsewhere, and it has no mode to be kept. */
	if (there && S_ISLNK(status.st_mode))
		return close_synced(directory, ELOOP);
	beside = text_format("%s" BESIDE, name);
	/* What a crash has left. */
	unlinkat(directory, beside, 0);
	fd = openat(directory, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		error = errno;
	if (!error) {
		if (there)
			error = inherit(fd, &status);
		else
			fchmod(fd, 0644);
		if (!error)
			error = file_write_fd(fd, text, strlen(text));
		error = close_synced(fd, error);
	}
	if (!error && renameat(directory, beside, directory, name))
		error = errno;
	if (error)
		unlinkat(directory, beside, 0);
	free(beside);
	return close_synced(directory, error);
}

int boot_remove(const char *root, const char *path, bool directory)
{
	const char *name;
	int fd = root_open_parent(root, path, O_RDONLY, &name), error = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : errno;
	if (unlinkat(fd, name, directory ? AT_REMOVEDIR : 0) && errno != ENOENT)
		error = errno;
	return close_synced(fd, error);
}

int boot_make_directory(const char *root, const char *path)
{
	const char *name;
	int fd = root_open_parent(root, path, O_RDONLY, &name), error;

	if (fd < 0)
		return errno;
	error = mkdirat(fd, name, 0755) ? errno : 0;
	return close_synced(fd, error);
}

char *boot_notes_read(const char *root)
{
	int fd = root_open(root, BOOT_NOTES, O_RDONLY), error;
	char *text;

	if (fd < 0)
		return NULL;
	text = journal_line_all(fd);
	error = errno;
	close(fd);
	errno = error;
	return text;
}

int boot_notes_write(const char *root, const char *text)
{
	int error;

	if (strcmp(text, JOURNAL_FIRST_LINE))
		return boot_replace(root, BOOT_NOTES, text);
	error = boot_remove(root, BOOT_NOTES, false);
	/* Others may have something in it. */
	if (!error)
		boot_remove(root, "/var/lib/isolator", true);
	return error;
}

int boot_note(const char *root, const char *what, const char *path, const char *now,
	      const char *text)
{
	static const char *const directories[] = { "/var", "/var/lib", "/var/lib/isolator" };
	const char *const fields[] = { what, path, now, text };
	char *before = boot_notes_read(root), *line, *all;
	size_t size;
	int error;

	if (!before && errno != ENOENT)
		return errno;
	for (size_t i = 0; !before && i < 3; i++) {
		error = boot_make_directory(root, directories[i]);
		if (error && error != EEXIST)
			return error;
	}
	line = journal_line_make(fields, &size);
	all = text_format("%s%s", before ? before : JOURNAL_FIRST_LINE, line);
	error = boot_replace(root, BOOT_NOTES, all);
	free(all);
	free(line);
	free(before);
	return error;
}
