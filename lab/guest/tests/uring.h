/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request to a ring of io_uring, by hand: the library that makes it easy is not in a guest. */
#ifndef LAB_URING_H
#define LAB_URING_H

#include <dirent.h>
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

/* Gives the workers of this process @set; 0 or -errno. */
static inline int uring_workers(int fd, cpu_set_t set)
{
	return syscall(SYS_io_uring_register, fd, IORING_REGISTER_IOWQ_AFF, &set, sizeof(set)) < 0 ?
	       -errno : 0;
}

/* One request that a worker of @fd's waits with. */
static inline void uring_wait(int fd, const struct io_uring_params *params)
{
	static char byte;
	int fds[2];

	if (pipe(fds) ||
	    !uring_submit(fd, params, (struct io_uring_sqe){
			.opcode = IORING_OP_READ, .flags = IOSQE_ASYNC, .fd = fds[0],
			.addr = (uintptr_t)&byte, .len = 1 }))
		bail_out("a request of io_uring's");
}

/* The thread of a ring that works for this process; 0: there is none. */
static inline pid_t uring_worker(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	pid_t found = 0;

	while (tasks && !found && (task = readdir(tasks))) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", task->d_name);
		if (file_has(path, "iou-wrk", NULL))
			found = atoi(task->d_name);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

#endif
