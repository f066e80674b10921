// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A machine on which the one call that starts with $FAILS fails, with EIO, and SIGTERM comes
 * just before the one that starts with $ENDS.  Calls are "fsync NAME" and so on, with the last
 * part of a file's path, and stand in the file $CALLS, if there is one.  $MOVES: a file that is
 * locked gets that path just before, and another one its own.  Linked with --wrap of each.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int __wrap_close(int file);
int __real_close(int file);
int __wrap_flock(int file, int how);
int __real_flock(int file, int how);
int __wrap_fsync(int file);
int __real_fsync(int file);
int __wrap_ppoll(struct pollfd *files, nfds_t count, const struct timespec *nap,
		 const sigset_t *mask);
int __real_ppoll(struct pollfd *files, nfds_t count, const struct timespec *nap,
		 const sigset_t *mask);
int __wrap_rename(const char *from, const char *to);
int __real_rename(const char *from, const char *to);

static bool is_meant(const char *variable, const char *call)
{
	const char *start = getenv(variable);

	return start && !strncmp(call, start, strlen(start));
}

/* Is it to fail? */
static bool fails(const char *name, const char *path)
{
	const char *slash = strrchr(path, '/'), *calls = getenv("CALLS");
	static bool ended;
	char call[PATH_MAX + 16];

	snprintf(call, sizeof(call), "%s %s", name, slash ? slash + 1 : path);
	if (calls) {
		FILE *out = fopen(calls, "a");

		fprintf(out, "%s\n", call);
		fclose(out);
	}
	if (is_meant("ENDS", call) && !ended) {
		ended = true;
		raise(SIGTERM);
	}
	errno = EIO;
	return is_meant("FAILS", call);
}

static const char *path_of(int file)
{
	static char path[PATH_MAX];
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	length = readlink(link, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = '\0';
	return path;
}

int __wrap_close(int file)
{
	/* Of others it is not asked whether that went well. */
	bool error = (fcntl(file, F_GETFL) & O_ACCMODE) == O_WRONLY &&
		fails("close", path_of(file));

	__real_close(file);
	errno = EIO;
	return error ? -1 : 0;
}

int __wrap_flock(int file, int how)
{
	const char *to = getenv("MOVES"), *path = path_of(file);

	if (to) {
		__real_rename(path, to);
		__real_close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0644));
	}
	return __real_flock(file, how);
}

int __wrap_fsync(int file)
{
	return fails("fsync", path_of(file)) ? -1 : __real_fsync(file);
}

int __wrap_ppoll(struct pollfd *files, nfds_t count, const struct timespec *nap,
		 const sigset_t *mask)
{
	return fails("ppoll", "") ? -1 : __real_ppoll(files, count, nap, mask);
}

int __wrap_rename(const char *from, const char *to)
{
	return fails("rename", from) ? -1 : __real_rename(from, to);
}
