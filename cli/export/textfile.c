// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "export/textfile.h"

#define MODE 0644	/* node_exporter is another user */

/* What @path leads to is @file, which nobody else has put there for this one to overwrite. */
static bool is_own(int file, const char *path)
{
	struct stat opened, named;

	return !fstat(file, &opened) && !lstat(path, &named) && S_ISREG(opened.st_mode) &&
		opened.st_dev == named.st_dev && opened.st_ino == named.st_ino &&
		opened.st_nlink == 1 && opened.st_uid == geteuid();
}

/* Empty, and nobody else's; -1, said why. */
static int open_beside(const char *beside)
{
	int file = open(beside, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, MODE);

	if (file < 0) {
		error_say("cannot make %s: %s%s", beside, strerror(errno),
			  errno == ENOENT ? ": make its directory first" :
			  errno == EACCES ? ": run it as a user who may write there" : "");
		return -1;
	}
	if (flock(file, LOCK_EX | LOCK_NB))
		error_say("another one writes %s just now: end one of the two", beside);
	else if (!is_own(file, beside))
		error_say("%s was not made by this command, or another command is replacing it: remove it if nobody needs it",
			  beside);
	else if (ftruncate(file, 0))
		error_say("cannot empty %s: %s", beside, strerror(errno));
	else
		return file;
	close(file);
	return -1;
}

/* After a crash of the machine the name leads to the one or the other, too. */
static int sync_directory(const char *path)
{
	char *copy = text_format("%s", path);
	int directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (directory < 0 || fsync(directory))
		error = errno;
	if (directory >= 0)
		close(directory);
	free(copy);
	return error;
}

int textfile_write(const char *path, const char *data, size_t size)
{
	char *beside = text_format("%s.new", path);
	int file = open_beside(beside), error;

	if (file < 0) {
		free(beside);
		return -1;
	}
	error = file_write_fd(file, data, size);
	if (!error && (fchmod(file, MODE) || fsync(file) || rename(beside, path)))
		error = errno;
	if (error)
		unlink(beside);
	else
		error = sync_directory(path);
	/* Not before: the lock is for the name, too. */
	if (close(file) && !error)
		error = errno;
	free(beside);
	if (!error)
		return 0;
	error_say("cannot write %s: %s", path, strerror(error));
	return -1;
}
