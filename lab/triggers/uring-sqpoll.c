// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: uring-sqpoll
 * row: 126
 * class: refuse
 * kind: program
 * notick: no
 * about: an io_uring asks for a polling thread of its own that is bound to the isolated CPU
 */
#include <linux/io_uring.h>
#include "trigger.h"

enum { PATIENCE = 5000, MARK = 0x1234 };

/* Submits one request that does nothing; is it completed? */
static bool completes(int ring, const struct io_uring_params *p)
{
	size_t sq_size = p->sq_off.array + p->sq_entries * sizeof(unsigned int);
	size_t cq_size = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
	size_t size = sq_size > cq_size ? sq_size : cq_size;
	char *rings = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			   ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *sqe = mmap(NULL, p->sq_entries * sizeof(*sqe),
					PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
					ring, IORING_OFF_SQES);
	unsigned int *tail, *array, *done;
	const struct io_uring_cqe *cqe;

	need(rings != MAP_FAILED && sqe != MAP_FAILED);
	tail = (unsigned int *)(rings + p->sq_off.tail);
	array = (unsigned int *)(rings + p->sq_off.array);
	done = (unsigned int *)(rings + p->cq_off.tail);
	cqe = (const struct io_uring_cqe *)(rings + p->cq_off.cqes);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_NOP;
	sqe->user_data = MARK;
	array[0] = 0;
	__atomic_store_n(tail, 1, __ATOMIC_RELEASE);
	need(syscall(SYS_io_uring_enter, ring, 1, 0, IORING_ENTER_SQ_WAKEUP, NULL, 0) >= 0);
	for (int wait = 0; wait < PATIENCE; wait++) {
		if (__atomic_load_n(done, __ATOMIC_ACQUIRE) == 1)
			return cqe->user_data == MARK;
		usleep(1000);
	}
	return false;
}

int main(void)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
		.sq_thread_cpu = (unsigned int)env_number("ISO_CPU"),
		.sq_thread_idle = 10,
	};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p);
	bool done;

	if (ring < 0 && errno == ENOSYS)
		answer(false, "done", "missing: io_uring");
	if (ring < 0 && errno == EBUSY)
		answer(true, "refused", "EBUSY");
	need(ring >= 0);
	done = completes(ring, &p);
	close(ring);
	answer(done, "done", "the request was %s", done ? "completed" : "not completed");
}
