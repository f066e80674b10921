// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * SIGKILL right before the call that changes a file, or a directory, for the $KILLED_AT-th time.
 * Linked with --wrap of each.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/file.h"

int __wrap_file_write_fd(int fd, const void *data, size_t size);
int __real_file_write_fd(int fd, const void *data, size_t size);
int __wrap_renameat(int from_directory, const char *from, int to_directory, const char *to);
int __real_renameat(int from_directory, const char *from, int to_directory, const char *to);
int __wrap_unlinkat(int directory, const char *name, int flags);
int __real_unlinkat(int directory, const char *name, int flags);

static pid_t command;

__attribute__((constructor)) static void begin(void)
{
	command = getpid();
}

static void count(void)
{
	static unsigned long calls;
	const char *at = getenv("KILLED_AT");

	/* What it has begun may outlive it. */
	if (at && getpid() == command && ++calls == strtoul(at, NULL, 10))
		kill(command, SIGKILL);
}

int __wrap_file_write_fd(int fd, const void *data, size_t size)
{
	count();
	return __real_file_write_fd(fd, data, size);
}

int __wrap_renameat(int from_directory, const char *from, int to_directory, const char *to)
{
	count();
	return __real_renameat(from_directory, from, to_directory, to);
}

int __wrap_unlinkat(int directory, const char *name, int flags)
{
	count();
	return __real_unlinkat(directory, name, flags);
}
