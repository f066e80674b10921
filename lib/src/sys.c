// SPDX-License-Identifier: LGPL-2.1-or-later
/* The table of system calls, filled with the real ones. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

/* open and ioctl are variadic: no plain function pointer takes them. */
static int sys_open(const char *path, int flags)
{
	return open(path, flags);
}

static int sys_ioctl(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument);
}

struct isolator_sys isolator_sys = {
	.open = sys_open,
	.close = close,
	.ioctl = sys_ioctl,
	.mmap = mmap,
	.munmap = munmap,
	.mlockall = mlockall,
};
