// SPDX-License-Identifier: GPL-2.0-or-later
/* atomic_queue, for one producer and one consumer. */
#include <atomic_queue/atomic_queue.h>

#include "pair.hh"
#include "peers.hh"

namespace {

struct Queue {
	bool push(const Message &message) { return queue.try_push(message); }
	bool pop(Message &message) { return queue.try_pop(message); }

	/* Size; minimise contention, no maximal throughput, no total order, SPSC. */
	atomic_queue::AtomicQueue2<Message, RING, true, false, false, true> queue;
};

} // namespace

Result measure_atomic_queue(const Options &options)
{
	return measure<Pair<Queue>>(options);
}
