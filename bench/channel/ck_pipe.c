// SPDX-License-Identifier: GPL-2.0-or-later
/* ck_ring.h is C: it does not compile as C++. */
#include "ck_pipe.h"

#include <ck_ring.h>

struct ck_pipe {
	ck_ring_t ring;
	struct ck_message slots[CK_PIPE_SLOTS] __attribute__((aligned(64)));
};

CK_RING_PROTOTYPE(message, ck_message)

unsigned long ck_pipe_bytes(void)
{
	return sizeof(struct ck_pipe);
}

void ck_pipe_begin(struct ck_pipe *pipe)
{
	ck_ring_init(&pipe->ring, CK_PIPE_SLOTS);
}

bool ck_pipe_push(struct ck_pipe *pipe, const struct ck_message *message)
{
	return ck_ring_enqueue_spsc_message(&pipe->ring, pipe->slots,
					    (struct ck_message *)(uintptr_t)message);
}

bool ck_pipe_pop(struct ck_pipe *pipe, struct ck_message *message)
{
	return ck_ring_dequeue_spsc_message(&pipe->ring, pipe->slots, message);
}
