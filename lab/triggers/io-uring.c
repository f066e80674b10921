// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: io-uring
 * row: 10
 * class: defer
 * kind: program
 * notick: no
 * user: yes
 * about: an unprivileged user makes request rings in the kernel, uses them, and drops them
 */
#include <linux/io_uring.h>
#include "trigger.h"

enum { ROUNDS = 8, ENTRIES = 1024 };

static void *ring_map(int fd, size_t size, uint64_t what)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)what);

	need(p != MAP_FAILED);
	return p;
}

/* One request that does nothing; did its completion come back? */
static bool nop(uint64_t mark)
{
	struct io_uring_params p = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &p);
	size_t sq_size, cq_size, sqe_size;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	char *sq, *cq;
	bool right;

	if (fd < 0 && errno == ENOSYS)
		answer(false, "done", "missing: io_uring");
	need(fd >= 0);
	sq_size = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
	cq_size = p.cq_off.cqes + p.cq_entries * sizeof(*cqe);
	sqe_size = p.sq_entries * sizeof(*sqe);
	sq = ring_map(fd, sq_size, IORING_OFF_SQ_RING);
	cq = ring_map(fd, cq_size, IORING_OFF_CQ_RING);
	sqe = ring_map(fd, sqe_size, IORING_OFF_SQES);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_NOP;
	sqe->user_data = mark;
	*(uint32_t *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	need(syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	right = __atomic_load_n((uint32_t *)(cq + p.cq_off.tail), __ATOMIC_ACQUIRE) == 1 &&
		cqe->user_data == mark && !cqe->res;
	munmap(sqe, sqe_size);
	munmap(cq, cq_size);
	munmap(sq, sq_size);
	close(fd);
	return right;
}

int main(void)
{
	int right = 0;

	for (int i = 0; i < ROUNDS; i++)
		right += nop(0x1ab0000 + (uint64_t)i);
	answer(right == ROUNDS, "done", "%d of %d rings completed their request",
	       right, ROUNDS);
}
