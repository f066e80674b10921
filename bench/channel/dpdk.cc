// SPDX-License-Identifier: GPL-2.0-or-later
/* DPDK's rte_ring of elements, for one producer and one consumer, without its EAL. */
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "pair.hh"
#include "peers.hh"

namespace {

struct Queue {
	Queue()
	{
		ring.size = RING;
		ring.mask = RING - 1;
		ring.capacity = RING - 1;
		ring.prod.sync_type = RTE_RING_SYNC_ST;
		ring.cons.sync_type = RTE_RING_SYNC_ST;
	}

	bool push(const Message &message)
	{
		return rte_ring_sp_enqueue_elem(&ring, const_cast<Message *>(&message),
						sizeof(message)) == 0;
	}
	bool pop(Message &message)
	{
		return rte_ring_sc_dequeue_elem(&ring, &message, sizeof(message)) == 0;
	}

	rte_ring ring{};
	/* Where rte_ring expects them: right behind it. */
	Message slots[RING];
};

} // namespace

Result measure_dpdk(const Options &options)
{
	return measure<Pair<Queue>>(options);
}
