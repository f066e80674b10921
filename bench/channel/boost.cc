// SPDX-License-Identifier: GPL-2.0-or-later
/* boost::lockfree::spsc_queue with its capacity fixed when compiled. */
#include <boost/lockfree/spsc_queue.hpp>

#include "pair.hh"
#include "peers.hh"

namespace {

struct Queue {
	bool push(const Message &message) { return queue.push(message); }
	bool pop(Message &message) { return queue.pop(message); }

	boost::lockfree::spsc_queue<Message, boost::lockfree::capacity<RING>> queue;
};

} // namespace

Result measure_boost(const Options &options)
{
	return measure<Pair<Queue>>(options);
}
