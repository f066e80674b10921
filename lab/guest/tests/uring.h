/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request to a ring of io_uring, by hand: the library that makes it easy is not in a guest. */
#ifndef LAB_URING_H
#define LAB_URING_H

#include <linux/io_uring.h>
#include "../test.h"

/* Of the ring @fd, made with @params, the first one; it stays mapped.  False: it was not taken. */
static inline bool uring_submit(int fd, const struct io_uring_params *params,
				struct io_uring_sqe request)
{
	unsigned int *array;
	struct io_uring_sqe *sqe;
	char *ring;

	ring = mmap(NULL, params->sq_off.array + sizeof(*array), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	if (ring == MAP_FAILED || sqe == MAP_FAILED)
		return false;
	*sqe = request;
	array = (unsigned int *)(ring + params->sq_off.array);
	array[0] = 0;
	__atomic_store_n((unsigned int *)(ring + params->sq_off.tail), 1, __ATOMIC_RELEASE);
	return syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) == 1;
}

#endif
