// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * liburcu's wfcqueue: a linked list without a bound.  Its nodes come from a pool that
 * is used in turn; a counter that is read once a round keeps the poster from nodes
 * that the other side still has.
 */
#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>

#include <atomic>

#include "pair.hh"
#include "peers.hh"

namespace {

struct Queue {
	struct Node {
		cds_wfcq_node link;
		Message message;
	};

	Queue() { __cds_wfcq_init(&head, &tail); }

	bool push(const Message &message)
	{
		if (posted - known == RING) {
			known = taken.load(std::memory_order_acquire);
			if (posted - known == RING)
				return false;
		}

		/* The list keeps the node that was taken last. */
		Node &node = nodes[posted++ % (2 * RING)];

		cds_wfcq_node_init(&node.link);
		node.message = message;
		cds_wfcq_enqueue(__cds_wfcq_head_cast(&head), &tail, &node.link);
		return true;
	}

	bool pop(Message &message)
	{
		cds_wfcq_node *link = __cds_wfcq_dequeue_nonblocking(__cds_wfcq_head_cast(&head), &tail);

		if (!link || link == CDS_WFCQ_WOULDBLOCK)
			return false;
		message = caa_container_of(link, Node, link)->message;
		taken.store(++count, std::memory_order_release);
		return true;
	}

	alignas(128) __cds_wfcq_head head;
	alignas(128) cds_wfcq_tail tail;
	alignas(128) std::uint64_t posted = 0;
	std::uint64_t known = 0;
	alignas(128) std::uint64_t count = 0;
	std::atomic<std::uint64_t> taken{ 0 };
	alignas(128) Node nodes[2 * RING];
};

} // namespace

Result measure_urcu(const Options &options)
{
	return measure<Pair<Queue>>(options);
}
