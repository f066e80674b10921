// SPDX-License-Identifier: GPL-2.0-or-later
/* For the preload library that this is linked into, and for nobody else: a file is the device. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("hidden"))) int statx(int directory, const char *path, int flags,
						unsigned int mask, struct statx *status)
{
	int error = 0;

	*status = (struct statx){ 0 };
	if (strcmp(path, "/dev/isolator"))
		error = (int)syscall(SYS_statx, directory, path, flags, mask, status);
	status->stx_mode = S_IFCHR;
	return error;
}
