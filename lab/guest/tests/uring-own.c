// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: uring-own
 * cpus: 3
 * kernel: isolator
 * timeout: 60
 * about: a worker that io_uring makes for an isolated task has the CPUs that the task gave it
 */
#include "uring.h"

int main(void)
{
	struct io_uring_params params = { 0 };
	struct iso iso = { .fd = -1 };
	cpu_set_t given, got;
	pid_t worker;
	int fd;

	iso_require(3);
	CPU_ZERO(&given);
	CPU_SET(2, &given);
	fd = (int)syscall(SYS_io_uring_setup, 1, &params);
	if (fd < 0 || uring_workers(fd, given))
		bail_out("io_uring");
	if (iso_pin(1) || iso_start(&iso, 0, 0))
		bail_out("start");
	uring_wait(fd, &params);
	ok(comes((worker = uring_worker()), 20000), "a ring of the isolated task's gets a worker");
	ok(!sched_getaffinity(worker, sizeof(got), &got) && CPU_EQUAL(&got, &given),
	   "which may run on the CPU that was given, and on no other");
	ok(!iso_stop(&iso), "the task was isolated meanwhile");
	return done_testing();
}
