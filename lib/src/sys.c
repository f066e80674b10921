// SPDX-License-Identifier: LGPL-2.1-or-later
/* The table of system calls, filled with the real ones. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#define MPOL_PREFERRED	1
#define NODES		1024

/* open and ioctl are variadic: no plain function pointer takes them. */
static int sys_open(const char *path, int flags)
{
	return open(path, flags);
}

static int sys_ioctl(int fd, unsigned long request, void *argument)
{
	return ioctl(fd, request, argument);
}

/* A policy of its own also keeps the hint faults of NUMA balancing away. */
static long sys_mbind(void *address, size_t length, int node)
{
	unsigned long mask[NODES / (8 * sizeof(long))] = { 0 };

	if (node >= NODES) {
		errno = EINVAL;
		return -1;
	}
	mask[(size_t)node / (8 * sizeof(long))] = 1UL << ((size_t)node % (8 * sizeof(long)));
	return syscall(SYS_mbind, address, length, MPOL_PREFERRED, mask, NODES + 1, 0);
}

/* Moves nothing: without a list of nodes it says where the pages are. */
static long sys_move_pages(unsigned long count, void **pages, int *status)
{
	return syscall(SYS_move_pages, 0, count, pages, NULL, status, 0);
}

struct isolator_sys isolator_sys = {
	.open = sys_open,
	.close = close,
	.ioctl = sys_ioctl,
	.mmap = mmap,
	.munmap = munmap,
	.mlockall = mlockall,
	.mlock = mlock,
	.madvise = madvise,
	.mbind = sys_mbind,
	.move_pages = sys_move_pages,
};
